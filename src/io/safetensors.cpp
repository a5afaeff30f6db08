#include "io/safetensors.hpp"

#include <fcntl.h>
#include <sys/mman.h>
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
              "tensors are written as they lie in memory, which must be little-endian");

constexpr std::size_t kLengthBytes = 8;

// Reading ----------------------------------------------------------------------------------------

std::optional<DType> parse_dtype(std::string_view text) {
  for (const auto& [dtype, name] : kEnumNames<DType>) {
    if (text == name) return dtype;
  }
  return std::nullopt;
}

/// A tensor as the header describes it.
struct HeaderEntry {
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<std::uint64_t>> shape;
  std::optional<std::vector<std::uint64_t>> data_offsets;
};

/// Takes {"__metadata__": {key: text}, name: {"dtype": text, "shape": [...], "data_offsets": [b,
/// e]}} event by event, so that nothing else, however deep or long, is ever built in memory.
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
                         ", but must have U8, I32, U32, I64, U64, F32 or F64"));
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
Tensor checked_tensor(const HeaderEntry& entry, std::span<const std::byte> data,
                      const TensorMap& out) {
  out.check(entry.dtype && entry.shape && entry.data_offsets && entry.data_offsets->size() == 2,
            "byte ", kLengthBytes, ": tensor ", entry.name,
            " must have a dtype, a shape and two data_offsets");
  const std::uint64_t begin = entry.data_offsets->front(), end = entry.data_offsets->back();
  out.check(begin <= end && end <= data.size(), "byte ", kLengthBytes, ": tensor ", entry.name,
            " has data_offsets ", begin, ", ", end, ", but the file holds ", data.size(),
            " bytes of data");
  std::uint64_t size = size_of(*entry.dtype);
  bool overflow = false;
  for (const std::uint64_t extent : *entry.shape) {
    overflow |= __builtin_mul_overflow(size, extent, &size);
  }
  out.check(!overflow && size == end - begin, "byte ", kLengthBytes, ": tensor ", entry.name,
            " has a shape of ", size, " bytes, but data_offsets of ", end - begin);
  return {*entry.dtype, *entry.shape, data.subspan(begin, end - begin)};
}

void check_coverage(const TensorMap& out, std::span<const std::byte> data) {
  std::vector<std::span<const std::byte>> pieces;
  for (const auto& [name, tensor] : out.tensors()) pieces.push_back(tensor.bytes);
  std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) {
    return a.data() != b.data() ? a.data() < b.data() : a.size() < b.size();
  });
  const std::byte* next = data.data();
  for (const auto& piece : pieces) {
    out.check(piece.data() == next, "the tensors overlap or leave a gap at byte ",
              next - data.data(), " of the data");
    next += piece.size();
  }
  out.check(next == data.data() + data.size(), "the tensors end at byte ", next - data.data(),
            " of the data, but the file holds ", data.size());
}

/// A read-only mapping that lives as long as its owner.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) fail(path, "cannot be opened");
    struct ::stat status {};
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(descriptor);
      throw ModelFileError(concat(path, ": not a regular file"));
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ > 0) {
      data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
      if (data_ == MAP_FAILED) {
        ::close(descriptor);
        fail(path, "cannot be mapped");
      }
    }
    ::close(descriptor);
  }
  ~MappedFile() {
    if (size_ > 0) ::munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  [[noreturn]] static void fail(const std::string& path, std::string_view what) {
    throw ModelFileError(concat(path, ": ", what, ": ", std::strerror(errno)));
  }
  void* data_ = nullptr;
  std::size_t size_ = 0;
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

std::string header_of(const TensorMap& tensors, const std::vector<const NamedTensor*>& order) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!tensors.metadata().empty()) header["__metadata__"] = tensors.metadata();
  std::uint64_t offset = 0;
  for (const NamedTensor* named : order) {
    const Tensor& tensor = named->second;
    header[named->first] = {{"dtype", name_of(tensor.dtype)},
                            {"shape", tensor.shape},
                            {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
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
  out.check(bytes.size() >= kLengthBytes, "byte 0: the file has ", bytes.size(),
            " bytes, but must have at least ", kLengthBytes);
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), kLengthBytes);
  out.check(header_size <= bytes.size() - kLengthBytes && header_size <= kMaxSafetensorsHeader,
            "byte 0: the header's length is ", header_size, ", but must be at most ",
            std::min<std::uint64_t>(bytes.size() - kLengthBytes, kMaxSafetensorsHeader));
  const char* text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
  out.check(header_size > 0 && *text == '{', "byte ", kLengthBytes,
            ": the header must be a JSON object");
  HeaderReader reader(out);
  const bool parsed = nlohmann::json::sax_parse(text, text + header_size, &reader);
  out.check(parsed && reader.error.empty(), "byte ", kLengthBytes, ": ", reader.error);
  const auto data = bytes.subspan(kLengthBytes + header_size);
  for (const HeaderEntry& entry : reader.entries) {
    out.put_raw(entry.name, checked_tensor(entry, data, out));
  }
  check_coverage(out, data);
  return out;
}

TensorMap read_safetensors(const std::string& path) {
  auto file = std::make_shared<const MappedFile>(path);
  TensorMap out = parse_safetensors(file->bytes(), path);
  out.keep_alive(std::move(file));
  return out;
}

void write_safetensors(const TensorMap& tensors, const std::string& path,
                       const std::function<void(const std::string& path)>& check) {
  AtomicFile file(path);
  emit(tensors, [&](std::string_view piece) { file.write(piece); });
  file.commit(check);
}

std::string serialize_safetensors(const TensorMap& tensors) {
  std::string bytes;
  emit(tensors, [&](std::string_view piece) { bytes.append(piece); });
  return bytes;
}

}  // namespace margrove
