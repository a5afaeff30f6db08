#include "cli/verbs.hpp"

namespace margrove::cli {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all{
      auto_verb(),        train_verb(),        predict_verb(),    evaluate_verb(),
      tune_verb(),        info_verb(),         explain_verb(),    compare_verb(),
      hierarchy_verb(),   report_verb(),       serve_verb(),      compress_verb(),
      export_verb(),      import_verb(),       generate_verb(),   plan_shards_verb(),
      train_shard_verb(), merge_shards_verb(), completion_verb(), manual_verb(),
  };
  return all;
}

}  // namespace margrove::cli
