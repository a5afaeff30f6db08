#include "base/tensors.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/number_text.hpp"

namespace margrove {

std::size_t size_of(DType dtype) {
  constexpr std::array<std::size_t, std::size(kEnumNames<DType>)> kSizes{1, 1, 2, 4, 4, 8, 8, 4, 8};
  return kSizes[static_cast<std::size_t>(dtype)];
}

std::uint64_t Tensor::num_values() const {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

void Tensor::copy_to(void* out) const {
  const std::size_t size = num_values() * size_of(dtype);
  if (size == 0) return;
  if (store != nullptr) {
    store->read(offset, {static_cast<std::byte*>(out), size});
  } else {
    std::memcpy(out, bytes.data(), size);
  }
}

void TensorMap::fail(std::string_view message) const {
  throw ModelFileError(concat(source_, ": ", message));
}

void TensorMap::put_bytes(std::string name, DType dtype, std::span<const std::byte> bytes,
                          std::vector<std::uint64_t> shape, bool copy) {
  if (shape.empty()) shape = {bytes.size() / size_of(dtype)};
  std::uint64_t size = size_of(dtype);
  for (const std::uint64_t extent : shape) size *= extent;
  if (size != bytes.size()) throw std::logic_error("tensor " + name + ": shape and size differ");
  if (copy) {
    auto owned = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    bytes = *owned;
    keep_alive(std::move(owned));
  }
  put_raw(std::move(name), {dtype, std::move(shape), bytes});
}

void TensorMap::put_strings(const std::string& name, std::span<const std::string> values) {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint8_t> bytes;
  for (const std::string& value : values) {
    bytes.insert(bytes.end(), value.begin(), value.end());
    offsets.push_back(bytes.size());
  }
  put<std::uint8_t>(name + ".bytes", bytes);
  put<std::uint64_t>(name + ".offsets", offsets);
}

std::vector<std::string> TensorMap::get_strings(const std::string& name) const {
  const auto bytes = get<std::uint8_t>(name + ".bytes");
  const auto offsets = get<std::uint64_t>(name + ".offsets");
  check(!offsets.empty() && offsets.front() == 0 && offsets.back() == bytes.size(), "tensor ", name,
        ".offsets must start at 0 and end at ", bytes.size());
  std::vector<std::string> values;
  values.reserve(offsets.size() - 1);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    check(offsets[i] <= offsets[i + 1] && offsets[i + 1] <= bytes.size(), "tensor ", name,
          ".offsets[", i + 1, "] is ", offsets[i + 1], ", but must not decrease or exceed ",
          bytes.size());
    values.emplace_back(bytes.begin() + static_cast<std::ptrdiff_t>(offsets[i]),
                        bytes.begin() + static_cast<std::ptrdiff_t>(offsets[i + 1]));
  }
  return values;
}

const Tensor& TensorMap::checked(std::string_view name, DType dtype,
                                 std::vector<std::uint64_t> shape) const {
  const auto found = tensors_.find(name);
  check(found != tensors_.end(), "tensor ", name, " is missing");
  const Tensor& tensor = found->second;
  check(tensor.dtype == dtype, "tensor ", name, " has dtype ", name_of(tensor.dtype),
        ", but must have ", name_of(dtype));
  check(tensor.shape.size() == shape.size(), "tensor ", name, " has ", tensor.shape.size(),
        " axes, but must have ", shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    check(shape[axis] == kAnySize || shape[axis] == tensor.shape[axis], "tensor ", name, " has ",
          tensor.shape[axis], " entries along axis ", axis, ", but must have ", shape[axis]);
  }
  return tensor;
}

std::vector<std::uint64_t> TensorMap::shape(std::string_view name) const {
  const auto found = tensors_.find(name);
  check(found != tensors_.end(), "tensor ", name, " is missing");
  return found->second.shape;
}

const std::string& TensorMap::text(std::string_view key) const {
  const auto found = metadata_.find(key);
  check(found != metadata_.end(), "metadata ", key, " is missing");
  return found->second;
}

double TensorMap::number(std::string_view key) const {
  const std::string& value = text(key);
  const auto number = read_number<double>(value);
  check(number && std::isfinite(*number), "metadata ", key, " is '", value,
        "', but must be a number");
  return *number;
}

double TensorMap::number_if_known(std::string_view key) const {
  return has_text(key) ? number(key) : std::numeric_limits<double>::quiet_NaN();
}

std::uint64_t TensorMap::whole_number(std::string_view key, std::uint64_t highest) const {
  const std::string& value = text(key);
  const auto number = read_number<std::uint64_t>(value);
  check(number.has_value(), "metadata ", key, " is '", value, "', but must be a whole number");
  check(*number <= highest, "metadata ", key, " is ", *number, ", which is too large");
  return *number;
}

bool TensorMap::truth(std::string_view key) const {
  const std::string& value = text(key);
  check(value == "true" || value == "false", "metadata ", key, " is '", value,
        "', but must be true or false");
  return value == "true";
}

}  // namespace margrove
