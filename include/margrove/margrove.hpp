#pragma once
// Includes every public header. docs/cxx.md has examples. Namespace margrove::detail is not for
// users.
//
//   errors, executor, control, options   how calls fail, run in parallel, report, are configured
//   examples, dataset, ..._reader, writers, tfidf, stop_words  rows and their labels; files
//   label_graph, node_weights            hierarchies
//   estimators, training, selection, model  methods, train(), tune(), choose(), what they return
//   oracle, surrogates, structured       structured SVMs with a model of your own
//   metrics, significance                how good predictions are

#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/errors.hpp"
#include "margrove/estimators.hpp"
#include "margrove/examples.hpp"
#include "margrove/executor.hpp"
#include "margrove/hierarchy_reader.hpp"
#include "margrove/label_codec.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/metrics.hpp"
#include "margrove/model.hpp"
#include "margrove/node_weights.hpp"
#include "margrove/options.hpp"
#include "margrove/oracle.hpp"
#include "margrove/results.hpp"
#include "margrove/selection.hpp"
#include "margrove/sentences.hpp"
#include "margrove/significance.hpp"
#include "margrove/stop_words.hpp"
#include "margrove/structured.hpp"
#include "margrove/surrogates.hpp"
#include "margrove/svmlight_reader.hpp"
#include "margrove/text_encoder.hpp"
#include "margrove/text_reader.hpp"
#include "margrove/tfidf.hpp"
#include "margrove/training.hpp"
#include "margrove/writers.hpp"
