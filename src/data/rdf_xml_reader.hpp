#pragma once
// Triples of RDF from RDF/XML, https://www.w3.org/TR/rdf-syntax-grammar/.

#include <string>
#include <string_view>

#include "data/input_file.hpp"
#include "data/rdf_triples.hpp"

namespace margrove::detail {

/// Reads a file. Nothing outside of it is opened: entities that are external are refused, as are
/// those that refer to other entities or are long, and documents that entities make more than ten
/// times as long. The content of parseType="Literal" is skipped, and lists (parseType="Collection")
/// give the triples of their members, but none of the list itself. Throws InvalidInput
/// "file:line:column: ..." for what is no RDF/XML. O(bytes); memory for the longest literal and the
/// open elements, of which there may be 200 within each other.
void read_rdf_xml(LineBlocks blocks, TripleSink& triples);

/// The URI that a reference stands for in a document with this base (RFC 3986); the reference
/// itself if the base is empty.
std::string resolved_uri(const std::string& reference, const std::string& base);

}  // namespace margrove::detail
