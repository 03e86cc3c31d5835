// Notes of kernels as bytes and back, as part of a plan's.
#pragma once

#include "luminal/plan/kernel_note.h"
#include "luminal/plan/record_reader.h"
#include "luminal/plan/record_writer.h"

namespace luminal::plan {

/// Writes a note.
void write_note(const KernelNote& note, RecordWriter& out);
/// Reads what write_note wrote; UserError for other bytes.
KernelNote read_note(RecordReader& in);

}  // namespace luminal::plan
