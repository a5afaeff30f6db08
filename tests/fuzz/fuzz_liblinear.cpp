// Any bytes give a model that can be used or an error that names the file.
#include "fuzzing_models.hpp"
#include "margrove/io/liblinear_model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  testing::expect_result_or_named_error([&] {  // InvalidInput: damaged compression
    try {
      testing::use(parse_liblinear(testing::as_text(bytes, size), "f"));
    } catch (const ModelFileError& error) {
      testing::check(std::string_view(error.what()).starts_with("f:"), "an error names its file");
    }
  });
  return 0;
}
