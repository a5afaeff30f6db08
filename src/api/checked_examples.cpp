#include "api/checked_examples.hpp"

#include "data/views.hpp"
#include "margrove/errors.hpp"

namespace margrove {

void require_consistent(const Examples& examples) {
  const std::string source = examples.source.empty() ? "examples" : examples.source;
  const bool are_numbers = examples.kind == RowKind::numbers;
  const bool have_texts = examples.kind == RowKind::documents || !examples.texts().empty();
  const std::size_t num_rows = are_numbers  ? examples.X.num_rows()
                               : have_texts ? examples.texts().size()
                                            : examples.num_rows();
  require(num_rows == examples.num_rows(), source, ": it has ", num_rows, " rows, but labels of ",
          examples.num_rows());
  for (std::size_t i = 0; i < examples.num_rows(); ++i) {
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
