#include "luminal/runtime/cpu/module.h"

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "luminal/support/error.h"

namespace luminal::runtime {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kStubBytes = 16;

/// Addresses add up modulo 2^64; those of a damaged object may be anything.
int64_t wrapping_sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

[[noreturn]] void reject(std::string_view why) {
  throw UserError("load kernel", "the object code is damaged ({}); compile the kernel again", why);
}

/// The functions of the C library that generated code may call: copies the compiler puts in for
/// loops, and mathematics where vector code has none of its own.
struct LibraryFunction {
  std::string_view name;
  void* address;
};

template <typename Result, typename... Args>
LibraryFunction library_row(std::string_view name, Result (*function)(Args...)) {
  return {name, reinterpret_cast<void*>(function)};
}

void* library_function(std::string_view name) {
  static const LibraryFunction kFunctions[] = {
      library_row<void*, void*, const void*, size_t>("memcpy", std::memcpy),
      library_row<void*, void*, const void*, size_t>("memmove", std::memmove),
      library_row<void*, void*, int, size_t>("memset", std::memset),
      library_row<double, double, double, double>("fma", std::fma),
      library_row<float, float, float, float>("fmaf", std::fma),
      library_row<double, double, double>("fmod", std::fmod),
      library_row<float, float, float>("fmodf", std::fmod),
      library_row<double, double, double>("pow", std::pow),
      library_row<double, double>("exp", std::exp),
      library_row<double, double>("exp2", std::exp2),
      library_row<double, double>("log", std::log),
      library_row<double, double>("log2", std::log2),
      library_row<double, double>("sin", std::sin),
      library_row<double, double>("cos", std::cos),
      library_row<double, double>("tanh", std::tanh),
      library_row<double, double>("erf", std::erf),
      library_row<double, double>("atan", std::atan),
      library_row<double, double>("floor", std::floor),
      library_row<float, float>("floorf", std::floor),
      library_row<double, double>("nearbyint", std::nearbyint),
      library_row<float, float>("nearbyintf", std::nearbyint),
  };
  for (const LibraryFunction& function : kFunctions)
    if (function.name == name) return function.address;
  return nullptr;
}

/// Adds two offsets of untrusted data.
uint64_t checked_end(uint64_t begin, uint64_t size, uint64_t limit) {
  if (begin > limit || size > limit - begin) reject("a section lies outside the data");
  return begin + size;
}

}  // namespace

/// Loads one object. Layout in memory: the sections, then one stub and one address per external
/// symbol, because libraries may lie too far away for a 32-bit call.
class ObjectLoader {
 public:
  ObjectLoader(std::string_view object, CpuModule& module) : object_(object), module_(module) {}

  void load() {
    read_headers();
    place_sections();
    map_memory();
    resolve_symbols();
    relocate();
    protect();
    collect_functions();
  }

 private:
  template <typename T>
  T read(uint64_t offset) const {
    checked_end(offset, sizeof(T), object_.size());
    T result;
    std::memcpy(&result, object_.data() + offset, sizeof(T));
    return result;
  }

  std::string_view text_at(const Elf64_Shdr& table, uint64_t offset) const {
    if (offset >= table.sh_size) reject("a name lies outside its table");
    const char* begin = object_.data() + table.sh_offset + offset;
    return {begin, strnlen(begin, table.sh_size - offset)};
  }

  void read_headers() {
    const auto header = read<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_REL ||
        header.e_machine != EM_X86_64 || header.e_shentsize != sizeof(Elf64_Shdr))
      reject("it is no relocatable object for this machine");
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
      sections_.push_back(read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
      const Elf64_Shdr& section = sections_.back();
      if (section.sh_type != SHT_NOBITS)
        checked_end(section.sh_offset, section.sh_size, object_.size());
      if (section.sh_type == SHT_SYMTAB) symbol_table_ = &section - sections_.data();
    }
    if (symbol_table_ < 0) reject("it has no symbols");
  }

  bool is_loaded(size_t section) const {
    const Elf64_Shdr& header = sections_[section];
    // Unwinding tables are for exceptions, which kernels do not throw.
    return (header.sh_flags & SHF_ALLOC) != 0 && header.sh_type != SHT_X86_64_UNWIND &&
           header.sh_size > 0;
  }

  void place(bool executable, uint64_t& offset) {
    for (size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& section = sections_[i];
      if (!is_loaded(i) || ((section.sh_flags & SHF_EXECINSTR) != 0) != executable) continue;
      const uint64_t alignment = std::max<uint64_t>(section.sh_addralign, 1);
      if (alignment > kPage || section.sh_size > (1 << 30)) reject("a section is too large");
      offset = (offset + alignment - 1) / alignment * alignment;
      offsets_[i] = static_cast<int64_t>(offset);
      offset += section.sh_size;
    }
  }

  void place_sections() {
    offsets_.assign(sections_.size(), -1);
    uint64_t end = 0;
    place(true, end);
    stubs_ = (end + kStubBytes - 1) / kStubBytes * kStubBytes;
    symbol_count_ = sections_[static_cast<size_t>(symbol_table_)].sh_size / sizeof(Elf64_Sym);
    code_bytes_ = (stubs_ + symbol_count_ * kStubBytes + kPage - 1) / kPage * kPage;
    addresses_ = code_bytes_;
    end = addresses_ + symbol_count_ * sizeof(void*);
    place(false, end);
    module_.bytes_ = (end + kPage - 1) / kPage * kPage;
  }

  void map_memory() {
    void* memory =
        mmap(nullptr, module_.bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      throw DeviceError("mmap", errno, "no {} bytes for code: {}", module_.bytes_,
                        std::strerror(errno));
    module_.memory_ = static_cast<std::byte*>(memory);
    for (size_t i = 0; i < sections_.size(); ++i)
      if (offsets_[i] >= 0 && sections_[i].sh_type != SHT_NOBITS)
        std::memcpy(module_.memory_ + offsets_[i], object_.data() + sections_[i].sh_offset,
                    sections_[i].sh_size);
  }

  Elf64_Sym symbol(uint64_t index) const {
    if (index >= symbol_count_) reject("a symbol number is out of range");
    return read<Elf64_Sym>(sections_[static_cast<size_t>(symbol_table_)].sh_offset +
                           index * sizeof(Elf64_Sym));
  }

  std::string_view symbol_name(const Elf64_Sym& entry) const {
    const uint32_t names = sections_[static_cast<size_t>(symbol_table_)].sh_link;
    if (names >= sections_.size()) reject("the symbols have no names");
    return text_at(sections_[names], entry.st_name);
  }

  /// `jmp *slot(%rip)`, for calls to functions that may be far away.
  void write_stub(uint64_t index) {
    const uint64_t stub = stubs_ + index * kStubBytes;
    const uint64_t slot = addresses_ + index * sizeof(void*);
    const auto distance = static_cast<int32_t>(slot - (stub + 6));
    module_.memory_[stub] = std::byte{0xff};
    module_.memory_[stub + 1] = std::byte{0x25};
    std::memcpy(module_.memory_ + stub + 2, &distance, sizeof(distance));
  }

  void resolve_symbols() {
    symbol_addresses_.assign(symbol_count_, nullptr);
    for (uint64_t i = 1; i < symbol_count_; ++i) {
      const Elf64_Sym entry = symbol(i);
      void* address = nullptr;
      if (entry.st_shndx == SHN_UNDEF) {
        address = library_function(symbol_name(entry));
        if (address == nullptr)
          throw UserError("load kernel", "the object code calls {}, which does not exist",
                          symbol_name(entry));
        std::memcpy(module_.memory_ + addresses_ + i * sizeof(void*), &address, sizeof(address));
        write_stub(i);
        address = module_.memory_ + stubs_ + i * kStubBytes;
      } else if (entry.st_shndx < sections_.size() && offsets_[entry.st_shndx] >= 0) {
        if (entry.st_value > sections_[entry.st_shndx].sh_size) reject("a symbol is misplaced");
        address = module_.memory_ + offsets_[entry.st_shndx] + entry.st_value;
        std::memcpy(module_.memory_ + addresses_ + i * sizeof(void*), &address, sizeof(address));
      }
      symbol_addresses_[i] = address;
    }
  }

  void relocate() {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_RELA || section.sh_info >= sections_.size()) continue;
      if (offsets_[section.sh_info] < 0) continue;
      for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= section.sh_size; at += sizeof(Elf64_Rela))
        apply(section.sh_info, read<Elf64_Rela>(section.sh_offset + at));
    }
  }

  void apply(uint32_t section, const Elf64_Rela& relocation) {
    const uint64_t type = ELF64_R_TYPE(relocation.r_info);
    const uint64_t index = ELF64_R_SYM(relocation.r_info);
    const size_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
    checked_end(relocation.r_offset, width, sections_[section].sh_size);
    if (index >= symbol_count_ || symbol_addresses_[index] == nullptr)
      reject("a relocation has no target");
    std::byte* place = module_.memory_ + offsets_[section] + relocation.r_offset;
    const auto here = reinterpret_cast<int64_t>(place);
    auto target = reinterpret_cast<int64_t>(symbol_addresses_[index]);
    switch (type) {
      case R_X86_64_64:
        return write(place, wrapping_sum(target, relocation.r_addend), 8);
      case R_X86_64_PC64:
        return write(place, wrapping_sum(wrapping_sum(target, relocation.r_addend), -here), 8);
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX:
        target = reinterpret_cast<int64_t>(module_.memory_ + addresses_ + index * sizeof(void*));
        [[fallthrough]];
      case R_X86_64_PC32:
      case R_X86_64_PLT32: {
        const int64_t distance = wrapping_sum(wrapping_sum(target, relocation.r_addend), -here);
        if (distance != static_cast<int32_t>(distance)) reject("an address is too far away");
        return write(place, distance, 4);
      }
      default:
        reject(fmt::format("unknown relocation {}", type));
    }
  }

  static void write(std::byte* place, int64_t value, size_t width) {
    std::memcpy(place, &value, width);
  }

  void protect() {
    if (mprotect(module_.memory_, code_bytes_, PROT_READ | PROT_EXEC) != 0)
      throw DeviceError("mprotect", errno, "code cannot be made executable: {}",
                        std::strerror(errno));
  }

  void collect_functions() {
    for (uint64_t i = 1; i < symbol_count_; ++i) {
      const Elf64_Sym entry = symbol(i);
      if (ELF64_ST_TYPE(entry.st_info) == STT_FUNC && ELF64_ST_BIND(entry.st_info) == STB_GLOBAL &&
          entry.st_shndx != SHN_UNDEF && symbol_addresses_[i] != nullptr)
        module_.symbols_.emplace(symbol_name(entry), symbol_addresses_[i]);
    }
  }

  std::string_view object_;
  CpuModule& module_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<int64_t> offsets_;  // of each section in memory; -1 if it is not loaded
  std::vector<void*> symbol_addresses_;
  int64_t symbol_table_ = -1;
  uint64_t symbol_count_ = 0;
  uint64_t stubs_ = 0;
  uint64_t addresses_ = 0;
  uint64_t code_bytes_ = 0;
};

CpuModule::CpuModule(const Artifact& artifact) {
  if (artifact.kind != ArtifactKind::kCpuObject)
    throw UserError("load kernel", "{} is no code for the CPU", artifact.label);
  const CpuFeatures missing = artifact.needed.without(host_cpu().features);
  if (!missing.empty())
    throw UserError("load kernel", "{} needs {}, which this processor ({}) lacks; compile it here",
                    artifact.label, missing.to_string(), host_cpu().model);
  try {
    ObjectLoader(artifact.code, *this).load();
    for (const EntryInfo& info : artifact.entries)
      if (symbol(info.name) == nullptr) reject(fmt::format("entry {} is missing", info.name));
  } catch (...) {
    if (memory_ != nullptr) munmap(memory_, bytes_);
    throw;
  }
}

CpuModule::~CpuModule() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

void* CpuModule::symbol(std::string_view name) const {
  const auto found = symbols_.find(name);
  return found == symbols_.end() ? nullptr : found->second;
}

CpuEntry CpuModule::entry(std::string_view name) const {
  void* address = symbol(name);
  if (address == nullptr) throw UserError("find kernel", "there is no entry named {}", name);
  return reinterpret_cast<CpuEntry>(address);
}

}  // namespace luminal::runtime
