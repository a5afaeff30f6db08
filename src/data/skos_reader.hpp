#pragma once
// Vocabularies in SKOS (Turtle, N-Triples or RDF/XML) as hierarchies of their concepts.

#include <string>
#include <string_view>

#include "data/input_file.hpp"
#include "margrove/dataset.hpp"

namespace margrove::detail {

/// How RDF is written, as far as the first bytes of a file tell.
/// N-Triples are Turtle.
enum class RdfSyntax : std::uint8_t { none, turtle, xml };
RdfSyntax rdf_syntax(std::string_view start);

/// Reads a vocabulary. Nodes are the URIs of the concepts that are not owl:deprecated. Edges are
/// those of skos:broader and skos:narrower, and of their sub-properties in ISO-THES. A node is
/// called by its skos:prefLabel in `language`, if that is not empty, else in none, else in English,
/// else by the first one in the file. With `other_names` it has the skos:altLabel and
/// skos:hiddenLabel of the best of these languages that it has some in, too. Warnings count edges
/// that are left out, and concepts that only skos:broaderTransitive or skos:narrowerTransitive
/// place. Throws InvalidInput "file:line:column: ..." for what is not RDF and InvalidInput for a
/// file without concepts, a language that no label has, a URI that cannot be a label, and a cycle.
Hierarchy read_skos(LineBlocks blocks, RdfSyntax syntax, const std::string& language,
                    bool other_names);

}  // namespace margrove::detail
