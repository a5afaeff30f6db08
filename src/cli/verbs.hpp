#pragma once
// A verb has one line here and one in verbs.cpp; it is defined in the file of its name
// (auto in automatic.cpp, export and import in convert.cpp, those of shards in shards.cpp).

#include "cli/command.hpp"

namespace margrove::cli {

Verb auto_verb();
Verb train_verb();
Verb predict_verb();
Verb evaluate_verb();
Verb tune_verb();
Verb info_verb();
Verb explain_verb();
Verb compare_verb();
Verb hierarchy_verb();
Verb report_verb();
Verb serve_verb();
Verb compress_verb();
Verb export_verb();
Verb import_verb();
Verb generate_verb();
Verb plan_shards_verb();
Verb train_shard_verb();
Verb merge_shards_verb();
Verb completion_verb();
Verb manual_verb();

}  // namespace margrove::cli
