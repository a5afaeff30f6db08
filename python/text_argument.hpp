#pragma once
// Texts in the memory of Python, which are not copied.

#include <nanobind/nanobind.h>

#include <span>
#include <string_view>
#include <vector>

namespace margrove::python {

namespace nb = nanobind;

/// A sequence of str, or the buffers of a column of Arrow: a list of chunks (validity, offsets,
/// bytes, first row, number of rows), where `validity` is None or a bitmap, and text i of a chunk
/// is bytes[offsets[first row + i]:offsets[first row + i + 1]]. A missing text is empty.
class TextArgument {
 public:
  TextArgument() = default;
  /// Throws InvalidInput for a text that is not UTF-8, naming its row, and for wrong buffers.
  explicit TextArgument(const nb::object& given);
  /// Valid as long as this object or a copy of it.
  std::span<const std::string_view> views() const { return views_; }

 private:
  void add_texts(const nb::object& given);
  void add_chunk(const nb::tuple& chunk);

  nb::object kept_;  // has the bytes
  std::vector<std::string_view> views_;
};

}  // namespace margrove::python
