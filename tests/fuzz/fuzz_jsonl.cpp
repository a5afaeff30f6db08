// Any bytes give records that become sound rows of numbers, or an error that names the file.
#include "data/jsonl_reader.hpp"
#include "fuzzing_records.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  testing::expect_sound_records([&](const ReadOptions& options) {
    return parse_jsonl(testing::as_text(bytes, size), "f", options);
  });
  return 0;
}
