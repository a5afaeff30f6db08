#pragma once
// Functions that the fuzz targets of readers of records share.

#include "data/path_ids.hpp"
#include "data/record_features.hpp"
#include "data/row_formats.hpp"
#include "fuzzing.hpp"

namespace margrove::testing {

/// Reads with three selections; parse(options) may throw InvalidInput if it names the source.
template <class Parse>
void expect_sound_records(const Parse& parse) {
  const RecordSelection names{
      .text = {"t"}, .numeric = {"n"}, .categorical = {"c"}, .label = "l", .label_separator = ";"};
  const RecordSelection paths{.text = {"t"}, .path = "l"};
  const RecordSelection vectors{.text = {"t"}, .vectors = {"n"}, .label = "l"};
  for (const RecordSelection& selection : {names, paths, vectors}) {
    expect_result_or_named_error([&] {
      const Examples data = parse({.selection = &selection, .labels_optional = true});
      const RecordFeatures features = RecordFeatures::fit(data.fields, selection, {});
      features.check();
      const CsrMatrix X = features.apply(data.fields);
      check_csr(X);
      check(X.num_rows() == data.labels.num_rows(), "every row has a label set");
      for (const std::string& id :
           data.hierarchy ? data.codec.names() : std::span<const std::string>()) {
        check(join_path(split_path(id, selection.separator), selection.separator) == id,
              "an id reads back to the same path");
      }
    });
  }
}

}  // namespace margrove::testing
