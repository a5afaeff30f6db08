#pragma once
// Gene annotation files (GAF): which terms of an ontology objects such as genes have.

#include <string>
#include <string_view>
#include <vector>

#include "margrove/control.hpp"
#include "margrove/dataset.hpp"
#include "margrove/label_codec.hpp"

namespace margrove {

/// Which annotations count.
struct GafFilter {
  std::vector<std::string> evidence = {};  // codes such as EXP; empty: all
  std::string aspects = {};                // letters, of the Gene Ontology F, P and C; empty: all
};

/// The terms of objects.
struct Annotations {
  std::string source;  // for messages
  LabelCodec objects;  // in order of first appearance
  LabelCodec terms;    // in order of first appearance
  LabelSets terms_of;  // of each object
  std::vector<std::string> warnings = {};
};

/// Reads a plain, gzip or zstd file of GAF 1 or 2: lines of 15 to 17 columns separated by tabs, of
/// which the 2nd is the object, the 4th the qualifiers, the 5th the term, the 7th the evidence and
/// the 9th the aspect. Lines that begin with `!` are comments. Annotations with the qualifier NOT
/// and those that the filter leaves out do not count. Lines of another form are left out with a
/// warning, which has their number and the first one. Throws InvalidInput if no annotation is left,
/// and OutOfTimeLimit where `control`, which may be null, asks to end. O(bytes).
Annotations read_gaf(const std::string& path, const GafFilter& filter = {},
                     RunControl* control = nullptr);
/// The same from memory; `name` stands for the file in messages.
Annotations parse_gaf(std::string_view bytes, const std::string& name,
                      const GafFilter& filter = {});

}  // namespace margrove
