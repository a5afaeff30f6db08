#include "model/saved_rows.hpp"

#include "margrove/errors.hpp"

namespace margrove {

void save_support(TensorMap& out, const std::string& kind, const CsrMatrix& support) {
  const CsrView view = support.view();
  out.put_view(kind + ".support.row_pointers", view.row_pointers());
  out.put_view(kind + ".support.columns", view.columns());
  out.put_view(kind + ".support.values", view.values());
  out.put_text(kind + ".num_features", concat(support.num_columns()));
}

CsrMatrix load_support(const TensorMap& tensors, const std::string& kind) {
  const auto num_features = tensors.whole_number(kind + ".num_features");
  tensors.check(num_features < 0xFFFFFFFFULL, kind, ".num_features is ", num_features,
                ", but must fit into 32 bits");
  try {
    return {static_cast<std::uint32_t>(num_features),
            tensors.get<std::int64_t>(kind + ".support.row_pointers"),
            tensors.get<FeatureId>(kind + ".support.columns"),
            tensors.get<float>(kind + ".support.values")};
  } catch (const InvalidInput& error) {
    tensors.fail(concat(kind, ".support: ", error.what()));
  }
}

}  // namespace margrove
