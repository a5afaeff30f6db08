#pragma once
// Named arrays and texts, of which model files consist.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_store.hpp"
#include "margrove/errors.hpp"
#include "margrove/options.hpp"

namespace margrove {

enum class DType { u8, i8, bf16, i32, u32, i64, u64, f32, f64 };
/// The names that the safetensors format uses.
template <>
inline constexpr auto kEnumNames<DType> = std::array{
    EnumName{DType::u8, "U8"},   EnumName{DType::i8, "I8"},   EnumName{DType::bf16, "BF16"},
    EnumName{DType::i32, "I32"}, EnumName{DType::u32, "U32"}, EnumName{DType::i64, "I64"},
    EnumName{DType::u64, "U64"}, EnumName{DType::f32, "F32"}, EnumName{DType::f64, "F64"}};
/// The size of one value in bytes.
std::size_t size_of(DType dtype);

/// The upper half of a float32.
struct BFloat16 {
  std::uint16_t bits;
};

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::i8;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::bf16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::u32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return DType::u64;
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
}

/// A little-endian, row-major array. The bytes lie in memory or, if there is a store, in the store
/// from `offset` on. They belong to the TensorMap or to an owner that it keeps alive.
struct Tensor {
  DType dtype = DType::u8;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes = {};
  const ByteStore* store = nullptr;
  std::uint64_t offset = 0;

  std::uint64_t num_values() const;
  /// `out` has room for all values.
  void copy_to(void* out) const;
};

/// Tensors and metadata by name. The getters throw ModelFileError naming source() and the tensor if
/// it is missing or has another dtype or shape, so that models which read themselves through this
/// class check only the meaning of the numbers.
class TensorMap {
 public:
  /// `source` is for messages: the file's name.
  explicit TensorMap(std::string source = "model") : source_(std::move(source)) {}

  const std::string& source() const { return source_; }
  const std::map<std::string, Tensor, std::less<>>& tensors() const { return tensors_; }
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
  bool has(std::string_view name) const { return tensors_.find(name) != tensors_.end(); }
  bool has_text(std::string_view key) const { return metadata_.find(key) != metadata_.end(); }

  /// Copies `values`. An empty shape stands for {values.size()}.
  template <class T>
  void put(std::string name, std::span<const T> values, std::vector<std::uint64_t> shape = {}) {
    put_bytes(std::move(name), dtype_of<T>(), std::as_bytes(values), std::move(shape), true);
  }
  /// Does not copy: `values` must outlive the map. Meant for large arrays that are written to a
  /// file.
  template <class T>
  void put_view(std::string name, std::span<const T> values,
                std::vector<std::uint64_t> shape = {}) {
    put_bytes(std::move(name), dtype_of<T>(), std::as_bytes(values), std::move(shape), false);
  }
  void put_text(std::string key, std::string value) {
    metadata_.insert_or_assign(std::move(key), std::move(value));
  }
  /// Any texts, null bytes included, as "<name>.bytes" (U8) and "<name>.offsets" (U64, one more).
  void put_strings(const std::string& name, std::span<const std::string> values);
  /// Scalars as metadata, in the shortest text that reads back equal.
  void put_number(std::string key, double value) { put_text(std::move(key), concat(value)); }
  void put_truth(std::string key, bool value) {
    put_text(std::move(key), value ? "true" : "false");
  }
  template <NamedEnum E>
  void put_enum(std::string key, E value) {
    put_text(std::move(key), std::string(name_of(value)));
  }

  /// A copy of the values of a tensor with one axis, which must have `size` values unless size is
  /// kAnySize.
  static constexpr std::uint64_t kAnySize = ~std::uint64_t{0};
  template <class T>
  std::vector<T> get(std::string_view name, std::uint64_t size = kAnySize) const {
    const Tensor& tensor = checked(name, dtype_of<T>(), {size});
    return copy_of<T>(tensor);
  }
  /// A copy of a tensor with two axes; either may be kAnySize.
  template <class T>
  std::vector<T> get_matrix(std::string_view name, std::uint64_t rows,
                            std::uint64_t columns) const {
    return copy_of<T>(checked(name, dtype_of<T>(), {rows, columns}));
  }
  std::vector<std::uint64_t> shape(std::string_view name) const;
  std::vector<std::string> get_strings(const std::string& name) const;
  const std::string& text(std::string_view key) const;
  double number(std::string_view key) const;           // finite
  double number_if_known(std::string_view key) const;  // NaN if there is none
  std::uint64_t whole_number(std::string_view key, std::uint64_t highest = ~std::uint64_t{0}) const;
  bool truth(std::string_view key) const;
  template <NamedEnum E>
  E get_enum(std::string_view key) const {
    const std::string& value = text(key);
    for (const auto& each : kEnumNames<E>) {
      if (value == each.name) return each.value;
    }
    fail(concat("metadata ", key, " is '", value, "', which is not known"));
  }

  /// Throws ModelFileError "source: what..." unless `condition` holds.
  template <class... Parts>
  void check(bool condition, const Parts&... parts) const {
    if (!condition) fail(concat(parts...));
  }
  [[noreturn]] void fail(std::string_view message) const;

  /// Adds a tensor whose bytes belong to an owner passed to keep_alive().
  void put_raw(std::string name, Tensor tensor) {
    tensors_.insert_or_assign(std::move(name), std::move(tensor));
  }
  void keep_alive(std::shared_ptr<const void> owner) { owners_.push_back(std::move(owner)); }
  /// The store of all tensors, for those who keep it and read values after the map is gone; null:
  /// nobody may.
  void share_store(std::shared_ptr<const ByteStore> store) { shared_store_ = std::move(store); }
  /// Those who keep the store read all of their values once, to check them, before they are used.
  void check_stored_values() { checks_stored_values_ = true; }
  bool checks_stored_values() const { return checks_stored_values_; }
  const std::shared_ptr<const ByteStore>& shared_store() const { return shared_store_; }
  /// The tensor's offset in the store. Throws as get().
  template <class T>
  std::uint64_t stored_offset(std::string_view name, std::vector<std::uint64_t> shape) const {
    return checked(name, dtype_of<T>(), std::move(shape)).offset;
  }

 private:
  void put_bytes(std::string name, DType dtype, std::span<const std::byte> bytes,
                 std::vector<std::uint64_t> shape, bool copy);
  const Tensor& checked(std::string_view name, DType dtype, std::vector<std::uint64_t> shape) const;
  template <class T>
  static std::vector<T> copy_of(const Tensor& tensor) {
    std::vector<T> values(tensor.num_values());
    tensor.copy_to(values.data());
    return values;
  }

  std::string source_;
  std::map<std::string, Tensor, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
  std::vector<std::shared_ptr<const void>> owners_;
  std::shared_ptr<const ByteStore> shared_store_;
  bool checks_stored_values_ = false;
};

}  // namespace margrove
