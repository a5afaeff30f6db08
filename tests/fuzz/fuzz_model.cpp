// Any bytes give a model that can be used or an error that names the file.
#include "fuzzing_models.hpp"
#include "margrove/io/model_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  try {
    testing::use(parse_model(std::as_bytes(std::span(bytes, size)), "f"));
  } catch (const ModelFileError& error) {
    testing::check(std::string_view(error.what()).starts_with("f:"), "an error names its file");
  }
  return 0;
}
