#include "io/safetensors.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/atomic_file.hpp"

namespace margrove {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are written as in memory, which must be little-endian");

constexpr std::size_t kLengthBytes = 8;

// Reading ----------------------------------------------------------------------------------------

std::optional<DType> parse_dtype(std::string_view text) {
  for (const auto& [dtype, name] : kEnumNames<DType>) {
    if (text == name) return dtype;
  }
  return std::nullopt;
}

/// The description of a tensor in the header.
struct HeaderEntry {
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<std::uint64_t>> shape;
  std::optional<std::vector<std::uint64_t>> data_offsets;
};

/// Takes {"__metadata__": {key: text}, name: {"dtype": text, "shape": [...], "data_offsets": [b,
/// e]}} event by event, so that no other value, however deep or long, is built in memory.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(TensorMap& out) : out_(out) {}
  std::vector<HeaderEntry> entries;
  std::string error;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a truth value"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return unexpected("a fraction"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (list_ == nullptr) return unexpected("a number");
    list_->push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (depth_ == 2 && in_metadata_) {
      out_.put_text(key_, value);
      return true;
    }
    if (depth_ != 2 || key_ != "dtype") return unexpected("text");
    entries.back().dtype = parse_dtype(value);
    if (!entries.back().dtype) {
      return fail(concat("tensor ", entries.back().name, " has dtype ", value,
                         ", but must have U8, I8, BF16, I32, U32, I64, U64, F32 or F64"));
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (depth_ > 1 || list_ != nullptr) return unexpected("an object");
    if (++depth_ == 2) {
      in_metadata_ = key_ == "__metadata__";
      if (!in_metadata_) entries.push_back({key_, {}, {}, {}});
      keys_.clear();
    }
    return true;
  }

  bool key(string_t& value) override {
    if (!(depth_ == 1 ? names_ : keys_).insert(value).second) {
      return fail(concat("key ", value, " occurs twice"));
    }
    key_ = value;
    return true;
  }

  bool end_object() override {
    --depth_;
    in_metadata_ = false;
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || list_ != nullptr) return unexpected("a list");
    if (key_ == "shape") {
      list_ = &entries.back().shape.emplace();
    } else if (key_ == "data_offsets") {
      list_ = &entries.back().data_offsets.emplace();
    } else {
      return unexpected("a list");
    }
    return true;
  }

  bool end_array() override {
    list_ = nullptr;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    return fail(concat("not valid JSON at byte ", kLengthBytes + position));
  }

 private:
  bool fail(std::string message) {
    if (error.empty()) error = std::move(message);
    return false;
  }
  bool unexpected(std::string_view what) {
    return fail(concat("the header holds ", what, " at '", key_, "' where it must not"));
  }

  TensorMap& out_;
  int depth_ = 0;
  bool in_metadata_ = false;
  std::string key_;
  std::vector<std::uint64_t>* list_ = nullptr;
  std::set<std::string> names_, keys_;
};

/// Checks the description of one tensor against the size of the data.
Tensor checked_tensor(const HeaderEntry& entry, std::uint64_t data_size, const TensorMap& out) {
  out.check(entry.dtype && entry.shape && entry.data_offsets && entry.data_offsets->size() == 2,
            "byte ", kLengthBytes, ": tensor ", entry.name,
            " must have a dtype, a shape and two data_offsets");
  const std::uint64_t begin = entry.data_offsets->front(), end = entry.data_offsets->back();
  out.check(begin <= end && end <= data_size, "byte ", kLengthBytes, ": tensor ", entry.name,
            " has data_offsets ", begin, ", ", end, ", but the file holds ", data_size,
            " bytes of data");
  std::uint64_t size = size_of(*entry.dtype);
  bool overflow = false;
  for (const std::uint64_t extent : *entry.shape) {
    overflow |= __builtin_mul_overflow(size, extent, &size);
  }
  out.check(!overflow && size == end - begin, "byte ", kLengthBytes, ": tensor ", entry.name,
            " has a shape of ", size, " bytes, but data_offsets of ", end - begin);
  return {.dtype = *entry.dtype, .shape = *entry.shape, .offset = begin};
}

void check_coverage(const TensorMap& out, const std::vector<HeaderEntry>& entries,
                    std::uint64_t data_size) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces;
  for (const HeaderEntry& entry : entries) {
    pieces.emplace_back(entry.data_offsets->front(), entry.data_offsets->back());
  }
  std::sort(pieces.begin(), pieces.end());
  std::uint64_t next = 0;
  for (const auto& [begin, end] : pieces) {
    out.check(begin == next, "the tensors overlap or leave a gap at byte ", next, " of the data");
    next = end;
  }
  out.check(next == data_size, "the tensors end at byte ", next,
            " of the data, but the file holds ", data_size);
}

/// The text's tensors with their offsets in the data.
std::vector<std::pair<std::string, Tensor>> read_header(std::string_view text,
                                                        std::uint64_t data_size, TensorMap& out) {
  out.check(!text.empty() && text.front() == '{', "byte ", kLengthBytes,
            ": the header must be a JSON object");
  HeaderReader reader(out);
  const bool parsed = nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  out.check(parsed && reader.error.empty(), "byte ", kLengthBytes, ": ", reader.error);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const HeaderEntry& entry : reader.entries) {
    tensors.emplace_back(entry.name, checked_tensor(entry, data_size, out));
  }
  check_coverage(out, reader.entries, data_size);
  return tensors;
}

/// The length of the header, which the first bytes hold.
std::uint64_t header_size(std::span<const std::byte, kLengthBytes> first, std::uint64_t file_size,
                          const TensorMap& out) {
  std::uint64_t size = 0;
  std::memcpy(&size, first.data(), kLengthBytes);
  const std::uint64_t most =
      std::min<std::uint64_t>(file_size - kLengthBytes, kMaxSafetensorsHeader);
  out.check(size <= most, "byte 0: the header's length is ", size, ", but must be at most ", most,
            "; it is no model file");
  return size;
}

void check_has_length(std::uint64_t file_size, const TensorMap& out) {
  out.check(file_size >= kLengthBytes, "byte 0: the file has ", file_size,
            " bytes, but must have at least ", kLengthBytes);
}

class FileBytes final : public ByteStore {
 public:
  explicit FileBytes(const std::string& path) : path_(path) {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is refused
    if (descriptor_ < 0) fail("cannot be opened");
    struct ::stat status {};
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(descriptor_);
      throw ModelFileError(concat(path, ": not a regular file"));
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
    written_ = status.st_mtim;
  }
  ~FileBytes() override { ::close(descriptor_); }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::uint64_t size() const { return size_; }
  /// Offsets count from here on.
  void start_at(std::uint64_t start) { start_ = start; }

  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    offset += start_;
    while (!out.empty()) {
      const ::ssize_t count =
          ::pread(descriptor_, out.data(), out.size(), static_cast<::off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("cannot be read");
      if (count == 0)
        throw ModelFileError(concat(path_, ": was cut at byte ", offset, " while it was read"));
      out = out.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    }
    require_unchanged();
  }

 private:
  /// A file that another one replaces stays as it is while it is open; one that is written to does
  /// not.
  void require_unchanged() const {
    struct ::stat now {};
    if (::fstat(descriptor_, &now) != 0) fail("cannot be read");
    if (static_cast<std::uint64_t>(now.st_size) == size_ && now.st_mtim.tv_sec == written_.tv_sec &&
        now.st_mtim.tv_nsec == written_.tv_nsec) {
      return;
    }
    throw ModelFileError(concat(path_, ": was written to after it was opened; load it again"));
  }
  [[noreturn]] void fail(std::string_view what) const {
    throw ModelFileError(concat(path_, ": ", what, ": ", std::strerror(errno)));
  }
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  ::timespec written_{};
  std::uint64_t start_ = 0;
};

// Writing ----------------------------------------------------------------------------------------

using NamedTensor = std::pair<const std::string, Tensor>;

std::vector<const NamedTensor*> in_file_order(const TensorMap& tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& named : tensors.tensors()) order.push_back(&named);
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return size_of(a->second.dtype) > size_of(b->second.dtype);
  });
  return order;
}

std::string in_quotes(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string in_brackets(std::span<const std::uint64_t> numbers) {
  std::string text = "[";
  for (const std::uint64_t number : numbers) text += concat(text.size() > 1 ? "," : "", number);
  return text + ']';
}

/// Written piece by piece: a tree of the JSON library asks for memory when it is destroyed, and
/// ends the program where there is none.
std::string header_of(const TensorMap& tensors, const std::vector<const NamedTensor*>& order) {
  std::string text = "{";
  const auto add = [&text](const std::string& key, const std::string& value) {
    if (text.back() != '{') text += ',';
    text += in_quotes(key) + ':' + value;
  };
  if (!tensors.metadata().empty()) {
    text += R"("__metadata__":{)";
    for (const auto& [key, value] : tensors.metadata()) add(key, in_quotes(value));
    text += '}';
  }
  std::uint64_t offset = 0;
  for (const NamedTensor* named : order) {
    const Tensor& tensor = named->second;
    const std::array<std::uint64_t, 2> ends{offset, offset + tensor.bytes.size()};
    add(named->first,
        concat(R"({"dtype":")", name_of(tensor.dtype), R"(","shape":)", in_brackets(tensor.shape),
               R"(,"data_offsets":)", in_brackets(ends), "}"));
    offset = ends[1];
  }
  text += '}';
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  std::string bytes(kLengthBytes, '\0');
  const std::uint64_t length = text.size();
  std::memcpy(bytes.data(), &length, kLengthBytes);
  return bytes + text;
}

/// Hands the file to `sink` piece by piece.
void emit(const TensorMap& tensors, const std::function<void(std::string_view)>& sink) {
  const auto order = in_file_order(tensors);
  sink(header_of(tensors, order));
  for (const NamedTensor* named : order) {
    const auto& bytes = named->second.bytes;
    sink({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

}  // namespace

TensorMap parse_safetensors(std::span<const std::byte> bytes, std::string source) {
  TensorMap out(std::move(source));
  check_has_length(bytes.size(), out);
  const std::uint64_t length = header_size(bytes.first<kLengthBytes>(), bytes.size(), out);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  const auto data = bytes.subspan(kLengthBytes + length);
  for (auto& [name, tensor] : read_header(text, data.size(), out)) {
    tensor.bytes = data.subspan(tensor.offset, tensor.num_values() * size_of(tensor.dtype));
    out.put_raw(name, std::move(tensor));
  }
  return out;
}

TensorMap read_safetensors(const std::string& path) {
  TensorMap out(path);
  auto file = std::make_shared<FileBytes>(path);
  check_has_length(file->size(), out);
  std::array<std::byte, kLengthBytes> first{};
  file->read(0, first);
  std::string text(header_size(first, file->size(), out), '\0');
  file->read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  file->start_at(kLengthBytes + text.size());
  for (auto& [name, tensor] : read_header(text, file->size() - kLengthBytes - text.size(), out)) {
    tensor.store = file.get();
    out.put_raw(name, std::move(tensor));
  }
  out.keep_alive(file);
  out.share_store(std::move(file));
  return out;
}

void write_safetensors(const TensorMap& tensors, const std::string& path,
                       const std::function<void(const std::string& path)>& check, Links links) {
  AtomicFile file(path, links);
  emit(tensors, [&](std::string_view piece) { file.write(piece); });
  file.commit(check);
}

std::string serialize_safetensors(const TensorMap& tensors) {
  std::string bytes;
  bytes.reserve(safetensors_size(tensors));
  emit(tensors, [&](std::string_view piece) { bytes.append(piece); });
  return bytes;
}

std::uint64_t safetensors_size(const TensorMap& tensors) {
  std::uint64_t size = 0;
  emit(tensors, [&](std::string_view piece) { size += piece.size(); });
  return size;
}

}  // namespace margrove
