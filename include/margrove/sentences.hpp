#pragma once
// Sentences in memory, from which `structured` trains chains and trees:
//
//   const std::vector<Sentence> train = {{{"the", "D"}, {"cat", "N"}}, {{"a", "D"}, {"dog", "N"}}};
//   const Model model = train_sentences(train, {{"model", "chain"}});
//   const std::vector<Sentence> tags = model.predict_sentences(std::vector<Sentence>{{{"dog"}}});

#include <string>
#include <vector>

#include "margrove/api.hpp"

namespace margrove MARGROVE_API {

/// The columns of a token, as docs/formats.md has them: of a chain the token, its features
/// (`name:number` for one with a value), and last its tag; of a tree the form, of which lemma, part
/// of speech, finer part of speech and morphology may follow, and last its head and relation, where
/// heads count from 1 and 0 is the root. The last ones, its answer, are missing where it is to be
/// predicted. No column is empty or has a tab or a line end.
using Token = std::vector<std::string>;
using Sentence = std::vector<Token>;

}  // namespace margrove
