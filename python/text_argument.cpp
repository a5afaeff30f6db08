#include "text_argument.hpp"

#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "arrays.hpp"
#include "data/utf8.hpp"
#include "margrove/errors.hpp"

namespace margrove::python {
namespace {

/// The offsets of a chunk, which Arrow stores in 32 or in 64 bits.
class Offsets {
 public:
  explicit Offsets(const nb::handle& given) {
    if (!nb::try_cast(given, wide_)) narrow_ = nb::cast<Vector<std::int32_t>>(given);
  }
  std::size_t size() const { return narrow_ ? narrow_->size() : wide_.size(); }
  std::int64_t operator[](std::size_t i) const { return narrow_ ? (*narrow_)(i) : wide_(i); }

 private:
  Vector<std::int64_t> wide_;
  std::optional<Vector<std::int32_t>> narrow_;
};

}  // namespace

TextArgument::TextArgument(const nb::object& given) {
  const auto num_parts = nb::len(given);
  views_.reserve(num_parts);
  if (num_parts > 0 && nb::isinstance<nb::tuple>(given[0])) {
    kept_ = nb::tuple(given);
    for (const nb::handle chunk : kept_) add_chunk(nb::cast<nb::tuple>(chunk));
  } else {
    add_texts(given);
  }
}

void TextArgument::add_texts(const nb::object& given) {
  kept_ = nb::tuple(given);  // of the same texts, whatever becomes of a list
  for (const nb::handle text : kept_) {
    Py_ssize_t size = 0;
    const char* bytes =
        PyUnicode_Check(text.ptr()) ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
    if (bytes == nullptr) {  // a surrogate; the text of the error is made only here, as it is slow
      PyErr_Clear();
      throw InvalidInput(concat("X: row ", views_.size(), " is ", nb::repr(text).c_str(),
                                ", but must be a text of Unicode characters"));
    }
    views_.emplace_back(bytes, static_cast<std::size_t>(size));
  }
}

void TextArgument::add_chunk(const nb::tuple& chunk) {
  const nb::object validity = chunk[0];
  const Offsets offsets(chunk[1]);
  const auto bytes = nb::cast<Vector<std::uint8_t>>(chunk[2]);
  const auto first = nb::cast<std::size_t>(chunk[3]), num_rows = nb::cast<std::size_t>(chunk[4]);
  std::optional<Vector<std::uint8_t>> bitmap;
  if (!validity.is_none()) bitmap = nb::cast<Vector<std::uint8_t>>(validity);
  const std::size_t end_row = first + num_rows;
  require(end_row < offsets.size() && (!bitmap || end_row <= 8 * bitmap->size()),
          "X: a column of Arrow has buffers that are too short for its ", num_rows, " rows");
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  for (std::size_t i = first; i < end_row; ++i) {
    if (bitmap && ((*bitmap)(i / 8) >> (i % 8) & 1U) == 0) {
      views_.emplace_back();
      continue;
    }
    const std::int64_t begin = offsets[i], end = offsets[i + 1];
    require(0 <= begin && begin <= end && static_cast<std::size_t>(end) <= bytes.size(), "X: row ",
            views_.size(), " of a column of Arrow has bytes ", begin, " to ", end,
            ", but the column has ", bytes.size());
    const std::string_view view(text + begin, static_cast<std::size_t>(end - begin));
    require(find_invalid_utf8(view) == std::string_view::npos, "X: row ", views_.size(),
            " of a column of Arrow is not UTF-8");
    views_.push_back(view);
  }
}

}  // namespace margrove::python
