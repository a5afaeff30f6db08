#include "data/skos_reader.hpp"

#include <serd/serd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>

#include "data/rdf_xml_reader.hpp"
#include "data/skos_vocabulary.hpp"
#include "data/text_scan.hpp"

namespace margrove::detail {
namespace {

constexpr int kMaxNested = 100;  // blank nodes; the parser of Turtle is recursive

// Triples from a file -----------------------------------------------------------------------------

std::string_view text_of(const SerdNode& node) {
  return {reinterpret_cast<const char*>(node.buf), node.n_bytes};
}

/// Lets serd read the triples of a source. serd is written in C: exceptions wait until it is left.
class TripleReader {
 public:
  TripleReader(LineBlocks blocks, TripleSink& triples)
      : blocks_(std::move(blocks)),
        triples_(triples),
        env_(serd_env_new(nullptr)),
        reader_(
            serd_reader_new(SERD_TURTLE, this, nullptr, on_base, on_prefix, on_statement, on_end)) {
    serd_reader_set_error_sink(reader_.get(), on_error, this);
  }

  void read() {
    constexpr std::size_t kPage = 65536;
    serd_reader_start_source_stream(reader_.get(), on_read, on_read_error, this, nullptr, kPage);
    SerdStatus status = SERD_SUCCESS;
    while (status == SERD_SUCCESS) status = serd_reader_read_chunk(reader_.get());
    serd_reader_end_stream(reader_.get());  // frees the page
    if (fault_ != nullptr) std::rethrow_exception(fault_);
    require(error_.empty() && status == SERD_FAILURE, blocks_.name(), error_.empty() ? ": " : "",
            error_.empty() ? "the file is not RDF" : error_);
  }

 private:
  /// Calls `action`, and keeps its exception.
  template <class Action>
  SerdStatus guarded(const Action& action) {
    try {
      action();
      return SERD_SUCCESS;
    } catch (...) {
      if (fault_ == nullptr) fault_ = std::current_exception();
      return SERD_ERR_INTERNAL;
    }
  }
  static TripleReader& self(void* handle) { return *static_cast<TripleReader*>(handle); }

  static std::size_t on_read(void* buffer, std::size_t size, std::size_t count, void* handle) {
    TripleReader& reader = self(handle);
    const std::span<char> out(static_cast<char*>(buffer), size * count);
    std::size_t read = 0;
    reader.guarded([&] {
      while (read < out.size()) {  // serd takes a page that is not full for the last one
        if (reader.rest_.empty()) {
          if (!reader.blocks_.next()) break;
          reader.rest_ = reader.blocks_.text();
        }
        const std::size_t copied = reader.rest_.copy(&out[read], out.size() - read);
        reader.rest_.remove_prefix(copied);
        read += copied;
      }
    });
    return read;
  }
  static int on_read_error(void* handle) { return self(handle).fault_ != nullptr ? 1 : 0; }

  static SerdStatus on_error(void* handle, const SerdError* error) {
    TripleReader& reader = self(handle);
    if (!reader.error_.empty()) return SERD_SUCCESS;  // the first one counts
    std::array<char, 200> text{};
    std::vsnprintf(text.data(), text.size(), error->fmt, *error->args);
    std::string_view message(text.data());
    while (message.ends_with('\n')) message.remove_suffix(1);
    reader.guarded(
        [&] { reader.error_ = concat(":", error->line, ":", error->col, ": ", message); });
    return SERD_SUCCESS;
  }

  static SerdStatus on_base(void* handle, const SerdNode* uri) {
    TripleReader& reader = self(handle);
    return reader.guarded([&] {
      reader.require_short(uri->n_bytes, "the base");
      serd_env_set_base_uri(reader.env_.get(), uri);
      SerdURI parsed;  // relative bases may add up
      reader.require_short(serd_env_get_base_uri(reader.env_.get(), &parsed)->n_bytes, "the base");
    });
  }
  static SerdStatus on_prefix(void* handle, const SerdNode* name, const SerdNode* uri) {
    TripleReader& reader = self(handle);
    return reader.guarded([&] {
      reader.require_short(uri->n_bytes, concat("the URI of prefix ", quoted(text_of(*name))));
      serd_env_set_prefix(reader.env_.get(), name, uri);
    });
  }
  static SerdStatus on_end(void* handle, const SerdNode* /*blank*/) {
    --self(handle).nested_;
    return SERD_SUCCESS;
  }

  static SerdStatus on_statement(void* handle, SerdStatementFlags flags, const SerdNode* /*graph*/,
                                 const SerdNode* subject, const SerdNode* predicate,
                                 const SerdNode* object, const SerdNode* /*datatype*/,
                                 const SerdNode* language) {
    TripleReader& reader = self(handle);
    return reader.guarded([&] {
      // Lists have no end of their own; a statement that continues nothing is outside of all.
      if ((flags & (SERD_ANON_CONT | SERD_LIST_CONT)) == 0) reader.nested_lists_ = 0;
      if ((flags & (SERD_ANON_S_BEGIN | SERD_ANON_O_BEGIN)) != 0) ++reader.nested_;
      if ((flags & (SERD_LIST_S_BEGIN | SERD_LIST_O_BEGIN)) != 0 &&
          text_of(*predicate).ends_with("first")) {
        ++reader.nested_lists_;
      }
      require(reader.nested_ <= kMaxNested && reader.nested_lists_ <= kMaxNested,
              reader.blocks_.name(), ": blank nodes or lists are nested more than ", kMaxNested,
              " deep");
      reader.add(*subject, *predicate, *object, language);
    });
  }

  void require_short(std::size_t num_bytes, std::string_view what) const {
    detail::require_short(concat(blocks_.name(), ": ", what), num_bytes);
  }

  void add(const SerdNode& subject, const SerdNode& predicate, const SerdNode& object,
           const SerdNode* language) {
    const std::string about = uri_of(subject), relation = uri_of(predicate);
    if (about.empty()) return;  // a blank node, which is no concept
    if (object.type == SERD_LITERAL) {
      blocks_.meter().add(about.size());  // a prefix makes it longer than it is in the file
      const bool has_language = language != nullptr && language->buf != nullptr;
      triples_.add(about, relation,
                   RdfLiteral{text_of(object), has_language ? text_of(*language) : ""});
    } else if (const std::string other = uri_of(object); !other.empty()) {
      blocks_.meter().add(about.size() + other.size());
      triples_.add(about, relation, other);
    }
  }

  /// The whole URI; empty for nodes that have none.
  std::string uri_of(const SerdNode& node) const {
    if (node.type != SERD_URI && node.type != SERD_CURIE) return {};
    SerdNode whole = serd_env_expand_node(env_.get(), &node);
    const SerdNode& known = whole.buf != nullptr ? whole : node;  // relative ones without a base
    std::string uri(text_of(known));
    serd_node_free(&whole);
    return uri;
  }

  struct Free {
    void operator()(SerdEnv* env) const { serd_env_free(env); }
    void operator()(SerdReader* reader) const { serd_reader_free(reader); }
  };
  LineBlocks blocks_;
  std::string_view rest_;  // of the present block
  TripleSink& triples_;
  std::unique_ptr<SerdEnv, Free> env_;
  std::unique_ptr<SerdReader, Free> reader_;
  int nested_ = 0, nested_lists_ = 0;
  std::exception_ptr fault_;
  std::string error_;  // of the parser: ":line:column: ..."
};

}  // namespace

namespace {

bool starts_with_word(std::string_view line, std::string_view word) {
  return line.size() > word.size() &&
         std::equal(word.begin(), word.end(), line.begin(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
}

/// Whether a statement may begin with this line: a URI or a blank node and then nothing, or what
/// may be a predicate. Lines `<URI><TAB>label` of Annif are none.
bool begins_statement(std::string_view line) {
  std::string_view rest;
  if (line.starts_with('<')) {
    const std::size_t end = line.find('>');
    if (end == std::string_view::npos) return false;
    rest = line.substr(end + 1);
  } else if (line.starts_with("_:") && line.find('<') != std::string_view::npos) {
    rest = line.substr(std::min(line.find_first_of(" \t"), line.size()));
  } else {
    return line.starts_with("[]") && line.find('<') != std::string_view::npos;
  }
  rest = trimmed(rest);
  if (rest.empty() || rest.starts_with("a <")) return true;
  const bool has_end = line.ends_with('.') || line.ends_with(';') || line.ends_with(',');
  if (has_end) return rest.find_first_of("<:") != std::string_view::npos;
  // Two URIs alone are rather an edge.
  const std::size_t end = rest.find('>');
  return rest.starts_with('<') && end != std::string_view::npos &&
         !trimmed(rest.substr(end + 1)).empty();
}

}  // namespace

RdfSyntax rdf_syntax(std::string_view start) {
  while (!start.empty()) {
    const std::size_t newline = start.find('\n');
    std::string_view line = trimmed(start.substr(0, newline));
    start.remove_prefix(newline == std::string_view::npos ? start.size() : newline + 1);
    if (line.ends_with('\r')) line = trimmed(line.substr(0, line.size() - 1));
    if (line.empty() || line.starts_with('#')) continue;
    for (const std::string_view word : {"<?xml", "<!", "<rdf:", "<RDF"})
      if (line.starts_with(word)) return RdfSyntax::xml;
    const bool is_directive =
        line.starts_with("@prefix") || line.starts_with("@base") ||
        ((starts_with_word(line, "prefix ") || starts_with_word(line, "base ")) &&
         line.find('<') != std::string_view::npos);
    return is_directive || begins_statement(line) ? RdfSyntax::turtle : RdfSyntax::none;
  }
  return RdfSyntax::none;
}

Hierarchy read_skos(LineBlocks blocks, RdfSyntax syntax, const std::string& language,
                    bool other_names) {
  SkosVocabulary vocabulary(blocks.name(), language, other_names);
  if (syntax == RdfSyntax::xml) {
    read_rdf_xml(std::move(blocks), vocabulary);
  } else {
    TripleReader(std::move(blocks), vocabulary).read();
  }
  return vocabulary.finish();
}

}  // namespace margrove::detail
