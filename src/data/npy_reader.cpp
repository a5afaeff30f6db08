#include "data/npy_reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "data/float_parser.hpp"
#include "data/input_descriptor.hpp"
#include "data/input_file.hpp"
#include "data/text_scan.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {
using detail::quoted;

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeaderBytes = 1 << 16;
constexpr std::uint64_t kNumbersOfBlock = 1 << 20;

struct TypeInfo {
  std::string_view text;  // in headers
  std::string_view name;
  std::size_t size;  // bytes
};
constexpr std::array<TypeInfo, 3> kTypes{
    {{"<f2", "float16", 2}, {"<f4", "float32", 4}, {"<f8", "float64", 8}}};

const TypeInfo& info_of(NpyArray::Type type) { return kTypes[static_cast<std::size_t>(type)]; }

class FileAnywhere final : public BytesAnywhere {
 public:
  explicit FileAnywhere(const std::string& path) : file_(path, InputDescriptor::Kind::regular) {}
  std::uint64_t size() const override { return file_.size(); }
  void read(std::uint64_t offset, std::span<char> out) const override {
    file_.read_at(offset, out);
  }

 private:
  InputDescriptor file_;
};

class MemoryAnywhere final : public BytesAnywhere {
 public:
  explicit MemoryAnywhere(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<char> out) const override {
    std::copy_n(bytes_.data() + offset, out.size(), out.data());
  }

 private:
  std::string_view bytes_;
};

/// What the header says: a dict of Python with the keys descr, fortran_order and shape.
struct HeaderText {
  std::string_view descr;  // without the quotes of a string
  std::optional<bool> is_fortran;
  std::string_view shape;                           // empty: there is none
  std::optional<std::vector<std::uint64_t>> sizes;  // of the shape
};

class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  /// Nothing if the text is no such dict.
  std::optional<HeaderText> parse() {
    HeaderText header;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const std::string_view key = without_quotes(value());
      if (!take(':')) return std::nullopt;
      const std::string_view given = value();
      if (given.empty() || !(take(',') || peek() == '}')) return std::nullopt;
      if (key == "descr") header.descr = without_quotes(given);
      if (key == "fortran_order" && given == "True") header.is_fortran = true;
      if (key == "fortran_order" && given == "False") header.is_fortran = false;
      if (key == "shape") header.shape = given;
    }
    if (header.descr.empty() || !header.is_fortran) return std::nullopt;
    header.sizes = HeaderParser(header.shape).tuple();
    if (!header.sizes) return std::nullopt;
    return header;
  }

 private:
  void skip_blanks() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t\n\r"), text_.size()));
  }
  char peek() {
    skip_blanks();
    return text_.empty() ? '\0' : text_.front();
  }
  bool take(char wanted) {
    if (peek() != wanted || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  static std::string_view without_quotes(std::string_view given) {
    const bool is_string = given.starts_with('\'') || given.starts_with('"');
    return is_string ? given.substr(1, given.size() - 2) : given;
  }

  /// The text of the next value, up to a comma, a colon or a bracket outside of strings and of
  /// brackets of its own; empty if it has no end.
  std::string_view value() {
    skip_blanks();
    std::size_t depth = 0;
    for (std::size_t k = 0; k < text_.size(); ++k) {
      const char c = text_[k];
      if (c == '\'' || c == '"') {
        k = text_.find(c, k + 1);
        if (k == std::string_view::npos) return {};
      } else if (c == '(' || c == '[' || c == '{') {
        ++depth;
      } else if (depth == 0 && (c == ',' || c == ':' || c == ')' || c == ']' || c == '}')) {
        const std::string_view found = text_.substr(0, k);
        text_.remove_prefix(k);
        return found.substr(0, found.find_last_not_of(" \t\n\r") + 1);
      } else if (c == ')' || c == ']' || c == '}') {
        --depth;
      }
    }
    return {};
  }

  /// Whole numbers between round brackets; those of Python 2 may end with an L.
  std::optional<std::vector<std::uint64_t>> tuple() {
    std::vector<std::uint64_t> sizes;
    if (!take('(')) return std::nullopt;
    while (!take(')')) {
      skip_blanks();
      std::uint64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc()) return std::nullopt;
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      sizes.push_back(size);
      take('L');
      if (!take(',') && peek() != ')') return std::nullopt;
    }
    return sizes;
  }

  std::string_view text_;
};

/// The text of the header, and where the numbers begin.
std::pair<std::string, std::uint64_t> header_text(const BytesAnywhere& bytes,
                                                  const std::string& name) {
  std::array<char, 12> start{};
  const auto given = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), start.size()));
  bytes.read(0, std::span(start).first(given));
  const std::string_view text(start.data(), given);
  require(text.starts_with(kMagic), name,
          ": it does not begin as a file of NumPy, but must be an array that numpy.save wrote");
  const auto byte = [&](std::size_t k) {
    return std::uint64_t{static_cast<unsigned char>(start[k])};
  };
  require(given > 9, name, ": the file ends in its header");
  const std::uint64_t major = byte(6), minor = byte(7);
  require(major >= 1 && major <= 3 && minor == 0, name, ": the version of the format is ", major,
          ".", minor, ", but must be 1.0, 2.0 or 3.0");
  const std::uint64_t begin = major == 1 ? 10 : 12;
  std::uint64_t size = byte(8) | byte(9) << 8U;
  if (major > 1) size |= byte(10) << 16U | byte(11) << 24U;
  require(begin <= bytes.size() && size <= bytes.size() - begin, name,
          ": the file ends in its header");
  require(size <= kMostHeaderBytes, name, ": the header has ", size,
          " bytes, but must have at most ", kMostHeaderBytes);
  std::string header(static_cast<std::size_t>(size), '\0');
  bytes.read(begin, header);
  return {std::move(header), begin + size};
}

NpyArray::Header read_header(const BytesAnywhere& bytes, const std::string& name) {
  const auto [text, begin] = header_text(bytes, name);
  const std::optional<HeaderText> found = HeaderParser(text).parse();
  require(found.has_value(), name, ": the header is ", quoted(text),
          ", but must be a dict with descr, fortran_order and shape");
  const auto type = std::ranges::find(kTypes, found->descr, &TypeInfo::text);
  require(type != kTypes.end(), name, ": the numbers have dtype ", quoted(found->descr),
          ", but must be float32, float64 or float16 ('<f4', '<f8', '<f2'); "
          "array.astype(numpy.float32) makes them so");
  const std::vector<std::uint64_t>& shape = *found->sizes;
  require(shape.size() == 2, name, ": the array has the shape ", found->shape,
          ", but must have two dimensions, rows and columns");
  NpyArray::Header header{static_cast<NpyArray::Type>(type - kTypes.begin()), *found->is_fortran,
                          shape[0], shape[1], begin};
  // The product of the sizes may be more than any file has.
  std::uint64_t size = 0;
  const bool is_too_large = __builtin_mul_overflow(shape[0], shape[1], &size) ||
                            __builtin_mul_overflow(size, std::uint64_t{type->size}, &size);
  require(!is_too_large && size == bytes.size() - begin, name, ": the array has the shape ",
          found->shape, " of ", type->name, ", but its numbers take ", bytes.size() - begin,
          " bytes of the file");
  require(shape[1] < std::numeric_limits<FeatureId>::max(), name, ": the array has ", shape[1],
          " columns, but must have fewer than ", std::numeric_limits<FeatureId>::max());
  return header;
}

template <class T>
T number_at(const char* place) {
  T number;
  std::memcpy(&number, place, sizeof(number));
  return number;
}

double from_float16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1F;
  const int mantissa = bits & 0x3FF;
  double value =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  if (exponent == 0x1F) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

double number_at(NpyArray::Type type, const char* place) {
  if (type == NpyArray::Type::float32) return double{number_at<float>(place)};
  if (type == NpyArray::Type::float64) return number_at<double>(place);
  return from_float16(number_at<std::uint16_t>(place));
}

}  // namespace

NpyArray::NpyArray(std::unique_ptr<const BytesAnywhere> bytes, std::string name,
                   RunControl* control)
    : bytes_(std::move(bytes)),
      name_(std::move(name)),
      memory_(control == nullptr ? nullptr
                                 : std::make_unique<MemoryWatch>(name_, control->memory_limit())),
      meter_(control, memory_.get()),
      header_(read_header(*bytes_, name_)) {}

std::span<const float> NpyArray::row(std::uint64_t i) {
  const std::size_t width = num_columns();
  if (width == 0) return {};
  read_in_time(name_, [&] { meter_.add(width); });
  if (i < first_ || i - first_ >= block_.size() / width) read_block(i);
  return std::span<const float>(block_).subspan(static_cast<std::size_t>(i - first_) * width,
                                                width);
}

void NpyArray::read_block(std::uint64_t first) {
  const std::uint64_t together = std::max<std::uint64_t>(kNumbersOfBlock / header_.num_columns, 1);
  const auto rows = static_cast<std::size_t>(std::min(together, header_.num_rows - first));
  const auto columns = static_cast<std::size_t>(header_.num_columns);
  block_.clear();
  std::vector<float> block(rows * columns);
  if (header_.is_fortran) {
    for (std::size_t j = 0; j < columns; ++j) {
      read_run(j * header_.num_rows + first, rows, block.data() + j, columns);
    }
  } else {
    read_run(first * columns, rows * columns, block.data(), 1);
  }
  block_ = std::move(block);
  first_ = first;
}

void NpyArray::read_run(std::uint64_t place, std::size_t count, float* target, std::size_t step) {
  const std::size_t size = info_of(header_.type).size;
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(count - done, std::size_t{1} << 17U);
    buffer_.resize(now * size);
    bytes_->read(header_.begin + (place + done) * size, buffer_);
    for (std::size_t k = 0; k < now; ++k) {
      const double number = number_at(header_.type, buffer_.data() + k * size);
      const auto value = static_cast<float>(number);
      if (!std::isfinite(value)) refuse(place + done + k, number);
      target[(done + k) * step] = value;
    }
    done += now;
  }
}

void NpyArray::refuse(std::uint64_t place, double number) const {
  const auto& [type, is_fortran, rows, columns, begin] = header_;
  const std::uint64_t i = is_fortran ? place % rows : place / columns;
  const std::uint64_t j = is_fortran ? place / rows : place % columns;
  throw InvalidInput(concat(name_, ": row ", i + 1, ", column ", j + 1, ": the number is ", number,
                            detail::kWantedFeatureValue));
}

NpyArray open_npy(const std::string& path, RunControl* control) {
  return {std::make_unique<FileAnywhere>(path), path, control};
}

NpyArray parse_npy(std::string_view bytes, std::string name) {
  return {std::make_unique<MemoryAnywhere>(bytes), std::move(name), nullptr};
}

}  // namespace margrove
