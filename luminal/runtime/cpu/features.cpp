#include "luminal/runtime/cpu/features.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "luminal/support/thread_pool.h"

namespace luminal::runtime {
namespace {

struct CpuidLeaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuidLeaf cpuid(unsigned leaf, unsigned subleaf) {
  CpuidLeaf result;
  if (__get_cpuid_count(leaf, subleaf, &result.eax, &result.ebx, &result.ecx, &result.edx) == 0)
    return {};
  return result;
}

/// Which register files the operating system saves; 0 if it does not say.
uint64_t saved_register_state(const CpuidLeaf& basic) {
  if ((basic.ecx >> 27 & 1) == 0) return 0;
  unsigned low = 0;
  unsigned high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

/// Runs one tile instruction in a child, which may die of it.
bool tiles_run() {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    // Palette 1 with one tile of one row of four bytes.
    alignas(64) unsigned char config[64] = {1};
    config[16] = 4;
    config[48] = 1;
    __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0x00" : : "a"(config) : "memory");  // ldtilecfg
    __asm__ volatile(".byte 0xc4, 0xe2, 0x7b, 0x49, 0xc0");                             // tilezero
    __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0");  // tilerelease
    _exit(0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool amx_granted() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0 && tiles_run();
}

CpuFeatures detect_features() {
  const CpuidLeaf basic = cpuid(1, 0);
  const CpuidLeaf extended = cpuid(7, 0);
  const CpuidLeaf more = cpuid(7, 1);
  const uint64_t saved = saved_register_state(basic);
  const bool saves_ymm = (saved & 0x6) == 0x6;
  const bool saves_zmm = saves_ymm && (saved & 0xe0) == 0xe0;
  const bool saves_tiles = (saved & 0x60000) == 0x60000;
  CpuFeatures result;
  const auto add = [&](CpuFeature feature, unsigned word, int bit, bool usable) {
    if (usable && (word >> bit & 1) != 0) result.insert(feature);
  };
  add(CpuFeature::kSse42, basic.ecx, 20, true);
  add(CpuFeature::kAvx, basic.ecx, 28, saves_ymm);
  add(CpuFeature::kFma, basic.ecx, 12, saves_ymm);
  add(CpuFeature::kF16c, basic.ecx, 29, saves_ymm);
  add(CpuFeature::kAvx2, extended.ebx, 5, saves_ymm);
  add(CpuFeature::kBmi2, extended.ebx, 8, true);
  add(CpuFeature::kAvx512f, extended.ebx, 16, saves_zmm);
  add(CpuFeature::kAvx512dq, extended.ebx, 17, saves_zmm);
  add(CpuFeature::kAvx512bw, extended.ebx, 30, saves_zmm);
  add(CpuFeature::kAvx512vl, extended.ebx, 31, saves_zmm);
  add(CpuFeature::kAvx512vnni, extended.ecx, 11, saves_zmm);
  add(CpuFeature::kAvx512fp16, extended.edx, 23, saves_zmm);
  add(CpuFeature::kAvx512bf16, more.eax, 5, saves_zmm);
  add(CpuFeature::kAvxVnni, more.eax, 4, saves_ymm);
  if (saves_tiles && (extended.edx >> 24 & 1) != 0 && amx_granted()) {
    result.insert(CpuFeature::kAmxTile);
    add(CpuFeature::kAmxBf16, extended.edx, 22, true);
    add(CpuFeature::kAmxInt8, extended.edx, 25, true);
  }
  return result;
}

std::string model_name() {
  char text[49] = {};
  for (unsigned i = 0; i < 3; ++i) {
    const CpuidLeaf part = cpuid(0x80000002 + i, 0);
    std::memcpy(text + 16 * i, &part, 16);
  }
  const std::string name(text);
  const size_t begin = name.find_first_not_of(' ');
  if (begin == std::string::npos) return "unknown";
  return name.substr(begin, name.find_last_not_of(' ') + 1 - begin);
}

/// The C library adds up what all dies of a processor have at the third level; the system knows
/// what one core can use.
int64_t shared_cache_bytes() {
  constexpr int kMostCaches = 8;
  for (int index = 0; index < kMostCaches; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream level(folder + "level");
    std::ifstream size(folder + "size");
    int number = 0;
    int64_t kilobytes = 0;
    char unit = ' ';
    if (level >> number && number == 3 && size >> kilobytes >> unit && unit == 'K')
      return kilobytes << 10;
  }
  return std::max<int64_t>(0, sysconf(_SC_LEVEL3_CACHE_SIZE));
}

int64_t cache_bytes(int level, int64_t fallback) {
  const long bytes = sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : fallback;
}

}  // namespace

std::string CpuFeatures::to_string() const {
  std::string result;
  for (const CpuFeatureInfo& row : kCpuFeatures) {
    if (!has(row.feature)) continue;
    if (!result.empty()) result += ' ';
    result += row.name;
  }
  return result.empty() ? "none" : result;
}

std::optional<CpuFeatures> parse_cpu_features(std::string_view text) {
  CpuFeatures result;
  if (text == "none") return result;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    bool known = false;
    for (const CpuFeatureInfo& row : kCpuFeatures)
      if (row.name == word) {
        result.insert(row.feature);
        known = true;
      }
    if (!known) return std::nullopt;
  }
  return result;
}

const CpuInfo& host_cpu() {
  static const CpuInfo info = [] {
    CpuInfo result;
    result.model = model_name();
    result.features = detect_features();
    result.l1_bytes = cache_bytes(1, result.l1_bytes);
    result.l2_bytes = cache_bytes(2, result.l2_bytes);
    result.l3_bytes = shared_cache_bytes();
    result.cores = support::available_processors();
    return result;
  }();
  return info;
}

}  // namespace luminal::runtime
