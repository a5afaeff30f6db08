#pragma once
// Answers of models of sentences beside the lines that they answer.

#include <string>
#include <string_view>

namespace margrove::cli {

/// The lines of the file at `path` with those of `answers`, one per token. In CoNLL-U an answer is
/// put in place of head and relation, and enhanced dependencies become `_`; in CoNLL columns it is
/// a further column. Lines that are no tokens stay as they are.
std::string with_answers(const std::string& path, bool is_conllu, std::string_view answers);

}  // namespace margrove::cli
