#include "luminal/plan/note_records.h"

namespace luminal::plan {
namespace {

// Structured bindings name every member, so that a new one does not compile until it is kept here.

void write_texts(const std::vector<std::string>& texts, RecordWriter& out) {
  out.list(texts, [&](const std::string& each) { out.text(each); });
}

std::vector<std::string> read_texts(RecordReader& in) {
  return in.list([&] { return in.text(); });
}

void write_refused(const std::vector<RefusedTemplate>& refused, RecordWriter& out) {
  out.list(refused, [&](const RefusedTemplate& each) {
    const auto& [name, why] = each;
    out.text(name);
    out.text(why);
  });
}

std::vector<RefusedTemplate> read_refused(RecordReader& in) {
  return in.list([&] {
    RefusedTemplate refused{in.text(), {}};
    refused.why = in.text();
    return refused;
  });
}

void write_boundary(const Boundary& boundary, RecordWriter& out) {
  const auto& [value, readers, stored_us, fused_us, why, fused_way, refused] = boundary;
  out.text(value);
  write_texts(readers, out);
  out.real(stored_us);
  out.real(fused_us);
  out.text(why);
  out.text(fused_way);
  write_refused(refused, out);
}

Boundary read_boundary(RecordReader& in) {
  Boundary boundary;
  boundary.value = in.text();
  boundary.readers = read_texts(in);
  boundary.stored_us = in.real();
  boundary.fused_us = in.real();
  boundary.why = in.text();
  boundary.fused_way = in.text();
  boundary.refused = read_refused(in);
  return boundary;
}

}  // namespace

void write_note(const KernelNote& note, RecordWriter& out) {
  const auto& [label, words, nodes, estimated_us, memory_bytes, flops, defined_flops, identity,
               shapes, refused, others, boundaries, loops] = note;
  out.text(label);
  write_texts(words, out);
  out.number(nodes);
  for (const double number : {estimated_us, memory_bytes, flops, defined_flops}) out.real(number);
  out.text(identity);
  out.text(shapes);
  write_refused(refused, out);
  out.list(others, [&](const OtherWay& each) {
    const auto& [schedule, other_us, why] = each;
    out.text(schedule);
    out.real(other_us);
    out.text(why);
  });
  out.list(boundaries, [&](const Boundary& each) { write_boundary(each, out); });
  out.text(loops);
}

KernelNote read_note(RecordReader& in) {
  KernelNote note;
  note.label = in.text();
  note.words = read_texts(in);
  note.nodes = in.number();
  for (double* number : {&note.estimated_us, &note.memory_bytes, &note.flops, &note.defined_flops})
    *number = in.real();
  note.identity = in.text();
  note.shapes = in.text();
  note.refused = read_refused(in);
  note.others = in.list([&] {
    OtherWay other{in.text(), 0.0, {}};
    other.estimated_us = in.real();
    other.why = in.text();
    return other;
  });
  note.boundaries = in.list([&] { return read_boundary(in); });
  note.loops = in.text();
  return note;
}

}  // namespace luminal::plan
