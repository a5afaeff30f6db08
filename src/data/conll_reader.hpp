#pragma once
// Sentences with one token per line. docs/formats.md has the rules and their errors.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "margrove/label_codec.hpp"

namespace margrove {

/// A sentence of a column file: the token and its features as text, and its tag.
struct ColumnSentence {
  std::vector<std::string> cells;  // num_tokens x num_columns, row by row; column 0 is the token
  std::vector<LabelId> tags;       // one per token; empty if the file has none
};
struct ColumnCorpus {
  std::vector<ColumnSentence> sentences;
  std::size_t num_columns = 0;  // without the tag
  LabelCodec tags;              // in order of first appearance after those given

  std::size_t num_tokens(std::size_t sentence) const {
    return sentences[sentence].cells.size() / num_columns;
  }
  const std::string& cell(std::size_t sentence, std::size_t token, std::size_t column) const {
    return sentences[sentence].cells[token * num_columns + column];
  }
};

struct ColumnOptions {
  /// Whether the last column is the tag; if not, every column is a feature.
  bool has_tags = true;
  /// Tags get the ids of this codec, and new ones the ids after it; without it, ids follow the
  /// order of appearance.
  const LabelCodec* tags = nullptr;
};

/// Reads a CoNLL column file (plain, gzip or zstd): the token, its features, and its tag last. A
/// blank line ends a sentence; lines that start with -DOCSTART- are left out. A line with a tab is
/// cut at tabs, any other one at blanks. Throws InvalidInput "file:line:column: ..." on lines of
/// different length, empty cells and text that is not UTF-8. O(bytes).
ColumnCorpus read_columns(const std::string& path, const ColumnOptions& options = {});
ColumnCorpus parse_columns(std::string_view bytes, const std::string& name,
                           const ColumnOptions& options = {});

/// The words of a sentence, numbered from 1 in `heads`; all vectors have one entry per word.
struct DependencySentence {
  std::vector<std::string> forms;
  std::vector<std::string> lemmas;
  std::vector<std::string> upos;
  std::vector<std::string> xpos;
  std::vector<std::string> features;
  std::vector<std::uint32_t> heads;  // 0: the root
  std::vector<LabelId> relations;

  std::size_t num_words() const { return forms.size(); }
};
struct DependencyCorpus {
  std::vector<DependencySentence> sentences;
  LabelCodec relations;  // in order of first appearance after those given
};

struct DependencyOptions {
  /// Whether heads and relations are read; if not, `heads` and `relations` stay empty.
  bool has_trees = true;
  const LabelCodec* relations = nullptr;
};

/// Reads a CoNLL-U file (plain, gzip or zstd); token ranges, empty nodes and comments are left out.
/// Throws InvalidInput "file:line:column: ..." unless every line has ten columns, words are
/// numbered from 1, heads are words of the sentence, and each sentence is a tree with one root.
/// O(bytes).
DependencyCorpus read_conllu(const std::string& path, const DependencyOptions& options = {});
DependencyCorpus parse_conllu(std::string_view bytes, const std::string& name,
                              const DependencyOptions& options = {});

/// Whether no arcs cross when they are drawn above the sentence, with the root's arc from its left.
/// heads[k] is the head of word k + 1; they must form trees below 0. O(words^2) at worst.
bool is_projective(const std::vector<std::uint32_t>& heads);

}  // namespace margrove
