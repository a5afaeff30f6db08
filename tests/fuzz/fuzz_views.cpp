// Two files of rows, divided by a line "--", lie side by side as views or are refused by name.
#include "data/views.hpp"
#include "fuzzing.hpp"
#include "margrove/svmlight_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  const std::string_view text = testing::as_text(bytes, size);
  const std::size_t cut = std::min(text.find("\n--\n"), text.size());
  testing::expect_result_or_named_error([&] {
    const Dataset a = parse_svmlight(text.substr(0, cut), "f");
    const Dataset b = parse_svmlight(text.substr(std::min(cut + 4, text.size())), "f");
    const FeatureId width = a.X.view().num_columns(), more = b.X.view().num_columns();
    try {
      const std::vector<View> views{{"a", 0, width}, {"b", width, width + more}};
      check_views(views);
      const ViewRows parts[] = {a.X.view(), b.X.view()};
      const CsrMatrix both = side_by_side(parts, views);
      check_csr(both);
      testing::check(both.view().num_rows() == a.labels.num_rows(), "rows stay");
    } catch (const InvalidInput&) {  // says which view
      return;
    }
  });
  return 0;
}
