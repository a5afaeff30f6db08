// Any bytes give a model that can be used or an error that names the file.
#include "fuzzing_models.hpp"
#include "io/model_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  testing::expect_model_or_named_error(
      [&] { return parse_model(std::as_bytes(std::span(bytes, size)), "f"); });
  return 0;
}
