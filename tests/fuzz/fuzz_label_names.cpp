// Any bytes give names of labels, each with one at least, or an error that names the file.
#include "data/label_names_reader.hpp"
#include "fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  for (const char* name : {"f", "f:.csv"}) {  // messages begin with "f:"
    testing::expect_result_or_named_error([&] {
      const LabelNames found = parse_label_names(testing::as_text(bytes, size), name);
      testing::check(found.names.size() == found.labels.size(), "every label has a name");
      for (const std::string& each : found.names) {
        testing::check(!each.empty() && each.find('\n') == std::string::npos, "on one line");
      }
      const Hierarchy labels = flat_labels(found.labels, found);
      testing::check(labels.names == found.names, "labels have their names");
      testing::check(labels.other_names == found.other_names, "and their other names");
    });
  }
  return 0;
}
