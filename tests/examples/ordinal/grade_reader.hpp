#pragma once
// Examples with a grade: a line `grade number number ...` each, separated by blanks.

#include <cstdint>
#include <string>
#include <vector>

#include "data/input_file.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/label_codec.hpp"

namespace margrove {

struct GradedRows {
  CsrMatrix X;
  std::vector<std::uint32_t> grades;  // one per row; empty if they were not read
  LabelCodec names;                   // "0", "1", ..., the largest grade

  std::size_t size() const { return X.num_rows(); }
  const LabelCodec& labels() const { return names; }
};

struct GradeFileOptions {
  bool has_grades = true;        // false: the first cell of a line is not looked at
  std::uint32_t num_grades = 0;  // at least so many grades have names
};

/// Throws InvalidInput "file:line:column: ..." for a grade that is not a whole number below 1000,
/// a number that is none, and lines of different length; "file: ..." for a file without examples;
/// OutOfTimeLimit where `control`, whose memory limit bounds lines, asks to end.
GradedRows read_grades(const ExampleSource& source, const GradeFileOptions& options = {},
                       RunControl* control = nullptr);

}  // namespace margrove
