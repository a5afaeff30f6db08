#include "api/checked_examples.hpp"

#include "data/views.hpp"
#include "margrove/errors.hpp"

namespace margrove {

void require_consistent(const Examples& examples) {
  const std::string source = examples.source.empty() ? "examples" : examples.source;
  const std::size_t num_rows = examples.num_rows();
  for (const std::size_t count : {std::size_t{examples.X.num_rows()}, examples.documents.size(),
                                  examples.fields.documents.size()}) {
    require(count == 0 || count == num_rows, source, ": it has ", count, " rows, but labels of ",
            num_rows);
  }
  for (std::size_t i = 0; i < num_rows; ++i) {
    for (const LabelId label : examples.labels[i]) {
      require(label < examples.codec.size(), source, ": row ", i, " has label ", label,
              ", but must have labels of its codec, which has ", examples.codec.size());
    }
  }
  if (examples.views.empty()) return;
  check_views(examples.views);
  require(examples.views.back().end == examples.X.num_columns(), source, ": the views have ",
          examples.views.back().end, " columns, but must have ", examples.X.num_columns());
}

}  // namespace margrove
