// Any bytes give annotations, each of a known object and term, or an error that names the file.
#include "data/gaf_reader.hpp"
#include "fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  testing::expect_result_or_named_error([&] {
    const GafFilter filter{.evidence = {"EXP", "IDA"}, .aspects = "FP"};
    const std::string_view text = testing::as_text(bytes, size);
    const Annotations all = parse_gaf(text, "f");
    const Annotations found = size % 2 == 0 ? all : parse_gaf(text, "f", filter);
    testing::check(found.terms_of.num_rows() == found.objects.size(), "every object has a row");
    for (std::size_t object = 0; object < found.objects.size(); ++object) {
      testing::check(!found.terms_of[object].empty(), "every object has a term");
      for (const LabelId term : found.terms_of[object]) {
        testing::check(term < found.terms.size(), "terms are known");
      }
    }
  });
  return 0;
}
