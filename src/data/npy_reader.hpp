#pragma once
// Arrays of NumPy in files .npy: a header and the numbers (NEP 1 of NumPy).

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_limit.hpp"
#include "base/work_meter.hpp"
#include "margrove/csr_matrix.hpp"

namespace margrove {

/// Bytes from any place of a file or of memory.
class BytesAnywhere {
 public:
  virtual ~BytesAnywhere() = default;
  virtual std::uint64_t size() const = 0;
  /// Fills `out` with the bytes from `offset` on, which must all be below size(). Throws
  /// InvalidInput if they cannot be read.
  virtual void read(std::uint64_t offset, std::span<char> out) const = 0;
};

/// Rows of numbers that stay in their file: a block of them at a time is in memory.
class NpyArray {
 public:
  /// The types of numbers, all little-endian.
  enum class Type : std::uint8_t { float16, float32, float64 };
  struct Header {
    Type type = Type::float32;
    bool is_fortran = false;  // column by column
    std::uint64_t num_rows = 0;
    std::uint64_t num_columns = 0;
    std::uint64_t begin = 0;  // of the numbers in the file
  };

  /// Reads the header. Throws InvalidInput as open_npy().
  NpyArray(std::unique_ptr<const BytesAnywhere> bytes, std::string name, RunControl* control);

  const std::string& name() const { return name_; }
  std::uint64_t num_rows() const { return header_.num_rows; }
  FeatureId num_columns() const { return static_cast<FeatureId>(header_.num_columns); }
  /// The numbers of row i, zeros included, until the next call. Reads a block of rows where i is
  /// not in the present one, so that rows in turn are read once. Throws InvalidInput "file: row,
  /// column: ..." for numbers of the block that are not finite as float32, and if the process has
  /// taken more memory since the file was opened than the control allows, and OutOfTimeLimit where
  /// the control asks to end.
  std::span<const float> row(std::uint64_t i);

 private:
  void read_block(std::uint64_t first);
  /// Copies numbers that lie side by side in the file, from the one at `place` on, to every step-th
  /// place of the target.
  void read_run(std::uint64_t place, std::size_t count, float* target, std::size_t step);
  [[noreturn]] void refuse(std::uint64_t place, double number) const;

  std::unique_ptr<const BytesAnywhere> bytes_;
  std::string name_;
  std::unique_ptr<MemoryWatch> memory_;  // null without a control
  WorkMeter meter_;
  Header header_;
  std::uint64_t first_ = 0;   // row of the block
  std::vector<float> block_;  // row by row
  std::vector<char> buffer_;
};

/// Opens a plain file of format version 1.0, 2.0 or 3.0 with an array of two dimensions of float16,
/// float32 or float64, little-endian, in C or Fortran order. Throws InvalidInput naming the file if
/// it is none, or if its size is not what the header says. `control` may be null. O(header).
NpyArray open_npy(const std::string& path, RunControl* control = nullptr);
/// The same from memory, which must outlive the array; `name` stands for the file in messages.
NpyArray parse_npy(std::string_view bytes, std::string name);

}  // namespace margrove
