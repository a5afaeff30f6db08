#pragma once
// Labels of rows that come from elsewhere than the rows: annotations, and ids that an ontology no
// longer uses.

#include <cstddef>
#include <string>

#include "data/gaf_reader.hpp"
#include "data/hierarchy_edges.hpp"
#include "methods/training.hpp"

namespace margrove {

/// Rows or labels that were left out, and one of them for messages.
struct LeftOutLabels {
  std::size_t num_rows = 0;
  std::size_t num_labels = 0;  // distinct
  std::string example;
};

/// Replaces the labels of each row, which are objects, by the terms of these objects. Returns the
/// rows without any term. Throws InvalidInput if no row has one. O(labels + terms).
LeftOutLabels annotate(Examples& raw, const Annotations& annotations);

/// Labels that are alternative ids of a term become this term. O(labels).
void use_terms(Examples& raw, const LabelCodec& terms);

/// Numbers the labels as in the hierarchy. Labels that are no nodes are left out and returned if
/// `drops_unknown`; if not, they throw InvalidInput naming the row. O(labels).
LeftOutLabels use_nodes(Examples& raw, const Hierarchy& hierarchy, const FormerTerms& former,
                        bool drops_unknown);

}  // namespace margrove
