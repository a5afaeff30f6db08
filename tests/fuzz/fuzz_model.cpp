// Any bytes give a model that can be used or an error that names the file. Mutations keep the
// container sound most of the time, so that what is in it, of every kind of model, is reached: one
// metadatum, or the bytes or the shape of one tensor.
#include <random>

#include "fuzzing_models.hpp"
#include "io/model_file.hpp"
#include "io/safetensors.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {
using namespace margrove;

/// At most `most` bytes.
template <class Bytes>
void mutate(Bytes& bytes, std::size_t most) {
  const std::size_t size = bytes.size();
  bytes.resize(std::max(size, most));
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
}

/// A number, or a mutation of the text.
std::string other_text(std::string text, std::mt19937& draw) {
  constexpr const char* kNumbers[] = {"0", "1", "-1", "nan", "1e308", "4294967295", "1e-320", ""};
  if (draw() % 2 == 0) return kNumbers[draw() % std::size(kNumbers)];
  mutate(text, text.size() + 16);
  return text;
}

/// Changes one tensor: its bytes, or the number of its rows.
void change(Tensor& tensor, std::vector<std::byte>& bytes, std::mt19937& draw) {
  bytes.assign(tensor.bytes.begin(), tensor.bytes.end());
  if (draw() % 2 == 0 || tensor.shape.empty() || bytes.empty()) {
    if (!bytes.empty()) {
      const std::size_t size = bytes.size();
      mutate(bytes, size);
      bytes.resize(size);
    }
  } else {
    const std::size_t row = bytes.size() / std::max<std::uint64_t>(tensor.shape[0], 1);
    tensor.shape[0] = draw() % (tensor.shape[0] + 2);
    bytes.resize(row * tensor.shape[0]);
  }
  tensor.bytes = bytes;
}

/// The file with one part of it changed; throws ModelFileError if it is none.
std::string changed(std::span<const std::byte> file, std::mt19937& draw) {
  const TensorMap model = parse_safetensors(file, "f");
  const bool of_metadata = draw() % 2 == 0;
  const std::size_t count = of_metadata ? model.metadata().size() : model.tensors().size();
  const std::size_t at = draw() % std::max<std::size_t>(count, 1);
  std::vector<std::byte> bytes;
  TensorMap out;
  std::size_t k = 0;
  for (const auto& [key, text] : model.metadata()) {
    out.put_text(key, of_metadata && k++ == at ? other_text(text, draw) : text);
  }
  for (const auto& [name, tensor] : model.tensors()) {
    Tensor copy = tensor;
    if (!of_metadata && k++ == at) change(copy, bytes, draw);
    out.put_raw(name, std::move(copy));
  }
  return serialize_safetensors(out);
}
}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  std::mt19937 draw(seed);
  if (draw() % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  try {
    const std::string file = changed(std::as_bytes(std::span(data, size)), draw);
    if (file.size() > most) return LLVMFuzzerMutate(data, size, most);
    std::copy(file.begin(), file.end(), data);
    return file.size();
  } catch (const ModelFileError&) {
    return LLVMFuzzerMutate(data, size, most);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  testing::expect_model_or_named_error(
      [&] { return parse_model(std::as_bytes(std::span(bytes, size)), "f"); });
  return 0;
}
