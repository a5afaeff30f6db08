// Any sentences have features: the table that is collected of them encodes them, each column once.
#include "fuzzing.hpp"
#include "outputs/chain/chain.hpp"
#include "outputs/chain/column_reader.hpp"
#include "outputs/chain/token_features.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  testing::expect_result_or_named_error([&] {
    RunControl control;
    const ColumnCorpus corpus = parse_columns(testing::as_text(bytes, size), "f");
    const FeatureTable table = FeatureTable::collect(
        corpus, 1, size % 2 == 0,
        size % 3 == 0 ? WordClusters::learn(corpus, 3, control) : WordClusters());
    const SequenceData data = table.encode(corpus, 0);
    check_sequences(data);
    check_csr(data.X);
  });
  return 0;
}
