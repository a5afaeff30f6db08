"""The estimators: one class per method of the registry, with its options and defaults.

Written by tools/make_estimators.py: change that, or the options' tables, and run it.
"""

from typing import Any

from margrove._base import Classifier, load, load_liblinear
from margrove._continued import Continued, Incremental
from margrove._levels import Leveled
from margrove._progress import Progress
from margrove._structured import Structured
from margrove._unweighted import Unweighted
from margrove.text import TextFeatures

__all__ = [
    "HRSVC",
    "HSVC",
    "NHSVC",
    "Classifier",
    "FlatLogisticRegression",
    "FlatSVC",
    "HRLogisticRegression",
    "KernelRidgeClassifier",
    "LabelTreesSVC",
    "LevelSVC",
    "SharedSVC",
    "StructuredSVC",
    "TopDownSVC",
    "load",
    "load_liblinear",
]


class FlatSVC(Continued):
    """Linear support vector machines without a hierarchy.

    One classifier per label (`multiclass="ovr"`), or all labels in one problem ("crammer-singer").
    Rows may have several labels.

    Parameters
    ----------
    C : float | str, default "auto"
        loss weight: the objective is the regulariser plus C times the sum of the losses; auto: k /
        (mean of the training rows' squared norms), or k / (number of columns) where these are
        scaled, for a k of the method and its loss [auto or > 0]
    lambda_ : float, default 0.0
        regularisation strength instead of C: C = 1 / (2 lambda); 0: C is used [>= 0]
    bias : float, default 1.0
        value of the appended constant feature; 0: none [>= 0]
    intercept_penalty : float, default 1.0
        strength of the regulariser of the constant feature's weights, the intercepts, relative to
        that of the others; 0: intercepts are not regularised (flat-svm and level-svm one-vs-rest,
        top-down-svm, label-trees, flat-lr, hr-svm, hr-lr) [>= 0]
    seed : int, default 0
        seed of the random order of visits [>= 0]
    decision : str, default "auto"
        labels of a row from its scores: the best one (argmax); those above zero; those above one
        threshold for all labels (threshold), one for each (scut), or one for each that is shrunk
        towards a common one (shrunk); a fixed number of best ones (rcut); those above a threshold
        predicted from the row's scores (instance); auto: the better one of instance and threshold
        where training rows have several labels, otherwise argmax [auto | argmax | zero | threshold
        | scut | shrunk | rcut | instance]
    decision_folds : int, default 3
        folds of the cross-validation whose scores tune threshold, scut, shrunk, rcut and instance,
        and fit the level weights of level-svm; they and the training itself share a time limit
        evenly [>= 2]
    tolerance : float, default 0.001
        relative duality gap at which training stops [> 0]
    max_passes : int, default 1000
        maximum number of passes over the rows [>= 1]
    match_names : bool, default False
        rows of texts, one-vs-rest: the similarity of a text to the names of a label (of
        --label-names, names and alternative names of SKOS, names and synonyms of OBO; or the label
        itself, where none has a name and at least half of them are words) adds to its score, with a
        weight fitted by a cross-validation in decision_folds; labels with names and without rows
        can be answered, too [true | false]
    partial_labels : bool, default False
        an inner node of the hierarchy as the label of a row says that the row's class is a leaf
        below it, unknown which, and is no answer of its own (rows with one label) [true | false]
    surrogate : str, default "margin"
        crammer-singer: function of margin violation and task loss: margin, slack,
        generalised:BETA,A, beta:BETA, log, prob, prob-convex, micro-f1 (label sets and sequences),
        normalized-difference (rows with one label)
    search : str, default "auto"
        crammer-singer: how the most violating labelling is found; auto: margin for margin
        rescaling; for the others enumeration where the oracle looks at all labellings, otherwise
        convex-hull [auto | margin | sarawagi | binary | bisecting | angular | convex-hull |
        enumeration]
    solver : str, default "auto"
        crammer-singer: bcfw (block-coordinate Frank-Wolfe), cutting-plane and one-slack stop at a
        duality gap, sgd (averaged stochastic subgradients) after its passes; auto: bcfw where the
        surrogate is affine in the margin, otherwise sgd [auto | bcfw | sgd | cutting-plane |
        one-slack]
    max_bans : int | str, default "auto"
        crammer-singer: maximum number of rounds in which convex-hull search bans labellings to make
        a fractional optimum integral; auto: 10, and 0 by sgd [auto or >= 0]
    search_tolerance : float | str, default "auto"
        crammer-singer: allowed error of a search: of the maximum, relative, for convex-hull and
        angular; of the logarithm of lambda for sarawagi, binary and bisecting; auto: 0.01 for
        convex-hull by sgd and for binary and bisecting, 0.001 for angular, 0.1 for sarawagi,
        otherwise 0 [auto or >= 0]
    search_calls : int | str, default "auto"
        crammer-singer: maximum number of oracle calls of one search; auto: 1000 for convex-hull and
        angular, 50 for sarawagi, binary and bisecting [auto or >= 1]
    convex_passes : int | str, default "auto"
        crammer-singer: prob by sgd: number of first passes that train with its convex extension
        prob-convex, as prob is flat where margins are badly violated; auto: half of the passes, and
        0 from the weights of an earlier model [auto or >= 0]
    learning_rate : float | str, default "auto"
        crammer-singer: sgd: size of the first step; later ones fall, step t to rate / (1 + rate t /
        (C n)) with n examples; auto: C, and C / 11 from the weights of an earlier model [auto or >
        0]
    loss : str, default "auto"
        loss of each row's margin; auto: squared-hinge for ovr, hinge for crammer-singer, which has
        no other [auto | hinge | squared-hinge]
    multiclass : str, default "ovr"
        each label against the rest, or all labels in one problem (rows with one label) [ovr |
        crammer-singer]
    epochs : int, default 50
        crammer-singer by sgd: passes over the rows [>= 1]
    cost_matrix : str, default ""
        crammer-singer: CSV file with the cost of predicting one label for another, used in place of
        the task loss: the first line names the predicted labels, the first cell of every other line
        the true label; the cost of the true label is 0
    hierarchy : Any, default None
        hierarchy of the labels in any form that `Hierarchy.of` takes
    text : Any, default None
        column of X, a frame, that is text, whose terms become features; several as a list, or as a
        dict with the number of times that each counts. A name with a * stands for all columns that
        fit, and '*' for those that no other parameter names; also in the next three
    numeric : Any, default None
        columns of X that are numbers; missing ones become the mean and set a further feature
    categorical : Any, default None
        columns of X that are categories, each of which becomes a feature
    vector_columns : Any, default None
        columns of X that are one vector, such as an embedding: of numbers, or a column with a list
        or an array in each row, all of one length and without gaps
    vector_share : float | None, default None
        share of that vector in the squared norm of a row, in (0, 1); None: 0.7
    path : Any, default None
        column of X with the path of the label as one text, or a list of columns, one per level from
        the root down. The paths give the hierarchy, unless one is given; `fit` then takes no y
    separator : str, default " > "
        text between the names of a path in one column
    text_features : TextFeatures | None, default None
        a TextFeatures whose options the terms of texts have; None: its defaults
    class_weight : Any, default None
        factors of the row weights by class: None; "balanced": n / (k n_c) for n_c of n rows (with
        sample_weight, their weights) of class c of k classes; or a dict of classes and weights,
        where classes that it lacks have weight 1. For rows with one label
    unlabelled : str, default "auto"
        what a row without a label means: auto: a missing label, so that it is left out with a
        warning, where no row has several labels, otherwise the empty set; drop: a missing label;
        keep: the empty set, so that labels are sets whatever their sizes, where the method can
        learn it
    calibration : float, default 0.0
        share of the rows that is held out to fit the temperature of probabilities, and where rows
        have several labels a shift, which trains twice; 0: none
    scale : str, default "auto"
        columns of X: standard (mean 0, deviation 1), max-abs, robust (median, quartiles), common
        (mean 0, one divisor) or none; sparse rows are divided only. auto: dense rows get standard,
        or common where no column is large or all are of one scale; sparse counts whose rows differ
        in length become unit rows
    kernel_features : str, default "none"
        after all else, rows become N features whose inner products approximate the Gaussian kernel
        exp(-gamma ||x - z||^2): nystroem:N (of N random training rows), fourier:N (random Fourier
        features), or none; `seed` decides which
    kernel_gamma : float, default 0.0
        kernel_features: gamma; 0: 1 / (2 d^2) for the median distance d of training rows
    kernel_model : Any, default None
        kernel_features nystroem: a fitted estimator of kernels, such as SPNMKLClassifier, or the
        path of a model, whose learned kernel takes the place of the Gaussian one; rows get its
        preprocessing. Searches, which clone it, need the path or FrozenEstimator(estimator)
    warm_start : bool, default False
        fit continues the last one: from its dual variables if rows and labels are the same, else
        from its weights. The state for this is kept in memory, not in files
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    time_limit_seconds : float | None, default None
        time after which training ends with the best weights so far and a ConvergenceWarning
    memory_limit : float | None, default None
        refuse to train if the estimated memory exceeds this many GB (10^9 bytes); None: 90 % of
        what is free
    progress : Progress, default False
        True for a tqdm bar, or a function that is called with each report as keywords
    """

    _method = "flat-svm"
    _several_labels = True

    # Longer than 60 lines: scikit-learn reads the parameters from the signature.
    def __init__(
        self,
        *,
        C: float | str = "auto",
        lambda_: float = 0.0,
        bias: float = 1.0,
        intercept_penalty: float = 1.0,
        seed: int = 0,
        decision: str = "auto",
        decision_folds: int = 3,
        tolerance: float = 0.001,
        max_passes: int = 1000,
        match_names: bool = False,
        partial_labels: bool = False,
        surrogate: str = "margin",
        search: str = "auto",
        solver: str = "auto",
        max_bans: int | str = "auto",
        search_tolerance: float | str = "auto",
        search_calls: int | str = "auto",
        convex_passes: int | str = "auto",
        learning_rate: float | str = "auto",
        loss: str = "auto",
        multiclass: str = "ovr",
        epochs: int = 50,
        cost_matrix: str = "",
        hierarchy: Any = None,
        text: Any = None,
        numeric: Any = None,
        categorical: Any = None,
        vector_columns: Any = None,
        vector_share: float | None = None,
        path: Any = None,
        separator: str = " > ",
        text_features: TextFeatures | None = None,
        class_weight: Any = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        kernel_features: str = "none",
        kernel_gamma: float = 0.0,
        kernel_model: Any = None,
        warm_start: bool = False,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.intercept_penalty = intercept_penalty
        self.seed = seed
        self.decision = decision
        self.decision_folds = decision_folds
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.match_names = match_names
        self.partial_labels = partial_labels
        self.surrogate = surrogate
        self.search = search
        self.solver = solver
        self.max_bans = max_bans
        self.search_tolerance = search_tolerance
        self.search_calls = search_calls
        self.convex_passes = convex_passes
        self.learning_rate = learning_rate
        self.loss = loss
        self.multiclass = multiclass
        self.epochs = epochs
        self.cost_matrix = cost_matrix
        self.hierarchy = hierarchy
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.vector_columns = vector_columns
        self.vector_share = vector_share
        self.path = path
        self.separator = separator
        self.text_features = text_features
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.calibration = calibration
        self.scale = scale
        self.kernel_features = kernel_features
        self.kernel_gamma = kernel_gamma
        self.kernel_model = kernel_model
        self.warm_start = warm_start
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress


class FlatLogisticRegression(Continued):
    """Logistic regression without a hierarchy.

    One-vs-rest, whose rows may have several labels, or multinomial (`multiclass="softmax"`).

    Parameters
    ----------
    C : float | str, default "auto"
        loss weight: the objective is the regulariser plus C times the sum of the losses; auto: k /
        (mean of the training rows' squared norms), or k / (number of columns) where these are
        scaled, for a k of the method and its loss [auto or > 0]
    lambda_ : float, default 0.0
        regularisation strength instead of C: C = 1 / (2 lambda); 0: C is used [>= 0]
    bias : float, default 1.0
        value of the appended constant feature; 0: none [>= 0]
    intercept_penalty : float, default 1.0
        strength of the regulariser of the constant feature's weights, the intercepts, relative to
        that of the others; 0: intercepts are not regularised (flat-svm and level-svm one-vs-rest,
        top-down-svm, label-trees, flat-lr, hr-svm, hr-lr) [>= 0]
    seed : int, default 0
        seed of the random order of visits [>= 0]
    decision : str, default "auto"
        labels of a row from its scores: the best one (argmax); those above zero; those above one
        threshold for all labels (threshold), one for each (scut), or one for each that is shrunk
        towards a common one (shrunk); a fixed number of best ones (rcut); those above a threshold
        predicted from the row's scores (instance); auto: the better one of instance and threshold
        where training rows have several labels, otherwise argmax [auto | argmax | zero | threshold
        | scut | shrunk | rcut | instance]
    decision_folds : int, default 3
        folds of the cross-validation whose scores tune threshold, scut, shrunk, rcut and instance,
        and fit the level weights of level-svm; they and the training itself share a time limit
        evenly [>= 2]
    tolerance : float, default 0.001
        relative duality gap at which training stops [> 0]
    max_passes : int, default 1000
        maximum number of passes over the rows [>= 1]
    match_names : bool, default False
        rows of texts, one-vs-rest: the similarity of a text to the names of a label (of
        --label-names, names and alternative names of SKOS, names and synonyms of OBO; or the label
        itself, where none has a name and at least half of them are words) adds to its score, with a
        weight fitted by a cross-validation in decision_folds; labels with names and without rows
        can be answered, too [true | false]
    partial_labels : bool, default False
        an inner node of the hierarchy as the label of a row says that the row's class is a leaf
        below it, unknown which, and is no answer of its own (rows with one label) [true | false]
    multiclass : str, default "ovr"
        logistic loss of each label against the rest, or of the softmax of all scores (multinomial;
        rows with one label, regularised intercepts, hierarchies that are nearly trees) [ovr |
        softmax]
    hierarchy : Any, default None
        hierarchy of the labels in any form that `Hierarchy.of` takes
    text : Any, default None
        column of X, a frame, that is text, whose terms become features; several as a list, or as a
        dict with the number of times that each counts. A name with a * stands for all columns that
        fit, and '*' for those that no other parameter names; also in the next three
    numeric : Any, default None
        columns of X that are numbers; missing ones become the mean and set a further feature
    categorical : Any, default None
        columns of X that are categories, each of which becomes a feature
    vector_columns : Any, default None
        columns of X that are one vector, such as an embedding: of numbers, or a column with a list
        or an array in each row, all of one length and without gaps
    vector_share : float | None, default None
        share of that vector in the squared norm of a row, in (0, 1); None: 0.7
    path : Any, default None
        column of X with the path of the label as one text, or a list of columns, one per level from
        the root down. The paths give the hierarchy, unless one is given; `fit` then takes no y
    separator : str, default " > "
        text between the names of a path in one column
    text_features : TextFeatures | None, default None
        a TextFeatures whose options the terms of texts have; None: its defaults
    class_weight : Any, default None
        factors of the row weights by class: None; "balanced": n / (k n_c) for n_c of n rows (with
        sample_weight, their weights) of class c of k classes; or a dict of classes and weights,
        where classes that it lacks have weight 1. For rows with one label
    unlabelled : str, default "auto"
        what a row without a label means: auto: a missing label, so that it is left out with a
        warning, where no row has several labels, otherwise the empty set; drop: a missing label;
        keep: the empty set, so that labels are sets whatever their sizes, where the method can
        learn it
    calibration : float, default 0.0
        share of the rows that is held out to fit the temperature of probabilities, and where rows
        have several labels a shift, which trains twice; 0: none
    scale : str, default "auto"
        columns of X: standard (mean 0, deviation 1), max-abs, robust (median, quartiles), common
        (mean 0, one divisor) or none; sparse rows are divided only. auto: dense rows get standard,
        or common where no column is large or all are of one scale; sparse counts whose rows differ
        in length become unit rows
    kernel_features : str, default "none"
        after all else, rows become N features whose inner products approximate the Gaussian kernel
        exp(-gamma ||x - z||^2): nystroem:N (of N random training rows), fourier:N (random Fourier
        features), or none; `seed` decides which
    kernel_gamma : float, default 0.0
        kernel_features: gamma; 0: 1 / (2 d^2) for the median distance d of training rows
    kernel_model : Any, default None
        kernel_features nystroem: a fitted estimator of kernels, such as SPNMKLClassifier, or the
        path of a model, whose learned kernel takes the place of the Gaussian one; rows get its
        preprocessing. Searches, which clone it, need the path or FrozenEstimator(estimator)
    warm_start : bool, default False
        fit continues the last one: from its dual variables if rows and labels are the same, else
        from its weights. The state for this is kept in memory, not in files
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    time_limit_seconds : float | None, default None
        time after which training ends with the best weights so far and a ConvergenceWarning
    memory_limit : float | None, default None
        refuse to train if the estimated memory exceeds this many GB (10^9 bytes); None: 90 % of
        what is free
    progress : Progress, default False
        True for a tqdm bar, or a function that is called with each report as keywords
    """

    _method = "flat-lr"
    _several_labels = True
    _logistic = True

    # Longer than 60 lines: scikit-learn reads the parameters from the signature.
    def __init__(
        self,
        *,
        C: float | str = "auto",
        lambda_: float = 0.0,
        bias: float = 1.0,
        intercept_penalty: float = 1.0,
        seed: int = 0,
        decision: str = "auto",
        decision_folds: int = 3,
        tolerance: float = 0.001,
        max_passes: int = 1000,
        match_names: bool = False,
        partial_labels: bool = False,
        multiclass: str = "ovr",
        hierarchy: Any = None,
        text: Any = None,
        numeric: Any = None,
        categorical: Any = None,
        vector_columns: Any = None,
        vector_share: float | None = None,
        path: Any = None,
        separator: str = " > ",
        text_features: TextFeatures | None = None,
        class_weight: Any = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        kernel_features: str = "none",
        kernel_gamma: float = 0.0,
        kernel_model: Any = None,
        warm_start: bool = False,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.intercept_penalty = intercept_penalty
        self.seed = seed
        self.decision = decision
        self.decision_folds = decision_folds
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.match_names = match_names
        self.partial_labels = partial_labels
        self.multiclass = multiclass
        self.hierarchy = hierarchy
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.vector_columns = vector_columns
        self.vector_share = vector_share
        self.path = path
        self.separator = separator
        self.text_features = text_features
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.calibration = calibration
        self.scale = scale
        self.kernel_features = kernel_features
        self.kernel_gamma = kernel_gamma
        self.kernel_model = kernel_model
        self.warm_start = warm_start
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress


class HSVC(Incremental):
    """Hierarchical SVM: a structured SVM over paths with Hamming loss (HSVM in [NHSVM]).

    Without a hierarchy all labels are roots. Rows with several labels get label sets: a wrong leaf
    then costs 1.

    Parameters
    ----------
    C : float | str, default "auto"
        loss weight: the objective is the regulariser plus C times the sum of the losses; auto: k /
        (mean of the training rows' squared norms), or k / (number of columns) where these are
        scaled, for a k of the method and its loss [auto or > 0]
    lambda_ : float, default 0.0
        regularisation strength instead of C: C = 1 / (2 lambda); 0: C is used [>= 0]
    bias : float, default 1.0
        value of the appended constant feature; 0: none [>= 0]
    intercept_penalty : float, default 1.0
        strength of the regulariser of the constant feature's weights, the intercepts, relative to
        that of the others; 0: intercepts are not regularised (flat-svm and level-svm one-vs-rest,
        top-down-svm, label-trees, flat-lr, hr-svm, hr-lr) [>= 0]
    seed : int, default 0
        seed of the random order of visits [>= 0]
    decision : str, default "auto"
        rows with several labels: the label set with the highest score (argmax), or with the highest
        one once a tuned number is added to the score of each leaf (offset); auto: offset where
        training rows have several labels, otherwise argmax [auto | argmax | offset]
    decision_folds : int, default 3
        folds of the cross-validation that tunes offset; they and the training itself share a time
        limit evenly [>= 2]
    decision_metric : str, default "micro-f1"
        what the offset is tuned for [micro-f1 | instance-f1 | macro-f1 | hierarchical-f1 |
        accuracy]
    surrogate : str, default "margin"
        function of margin violation and task loss: margin, slack, generalised:BETA,A, beta:BETA,
        log, prob, prob-convex, micro-f1 (label sets and sequences), normalized-difference (rows
        with one label)
    search : str, default "auto"
        how the most violating labelling is found; auto: margin for margin rescaling; for the others
        enumeration where the oracle looks at all labellings, otherwise convex-hull [auto | margin |
        sarawagi | binary | bisecting | angular | convex-hull | enumeration]
    solver : str, default "auto"
        bcfw (block-coordinate Frank-Wolfe), cutting-plane and one-slack stop at a duality gap, sgd
        (averaged stochastic subgradients) after its passes; auto: bcfw where the surrogate is
        affine in the margin, otherwise sgd [auto | bcfw | sgd | cutting-plane | one-slack]
    max_bans : int | str, default "auto"
        maximum number of rounds in which convex-hull search bans labellings to make a fractional
        optimum integral; auto: 10, and 0 by sgd [auto or >= 0]
    search_tolerance : float | str, default "auto"
        allowed error of a search: of the maximum, relative, for convex-hull and angular; of the
        logarithm of lambda for sarawagi, binary and bisecting; auto: 0.01 for convex-hull by sgd
        and for binary and bisecting, 0.001 for angular, 0.1 for sarawagi, otherwise 0 [auto or >=
        0]
    search_calls : int | str, default "auto"
        maximum number of oracle calls of one search; auto: 1000 for convex-hull and angular, 50 for
        sarawagi, binary and bisecting [auto or >= 1]
    convex_passes : int | str, default "auto"
        prob by sgd: number of first passes that train with its convex extension prob-convex, as
        prob is flat where margins are badly violated; auto: half of the passes, and 0 from the
        weights of an earlier model [auto or >= 0]
    learning_rate : float | str, default "auto"
        sgd: size of the first step; later ones fall, step t to rate / (1 + rate t / (C n)) with n
        examples; auto: C, and C / 11 from the weights of an earlier model [auto or > 0]
    alpha : str, default "uniform"
        rule of the node weights: uniform, leaves, power:RHO, directional, maxmin, share:S,
        relaxed:T
    merge_duplicates : bool, default False
        compute the weights on the hierarchy in which nodes with the same leaves below them are
        merged, and split each weight evenly over the copies [true | false]
    inference : str, default "exact"
        training rows with several labels on DAGs: the most violating label set, or the maximum of
        its linear relaxation; predictions are exact [exact | relaxed]
    set_loss : str, default "leaves"
        rows with several labels: what the task loss counts: the leaves, or the nodes, on which two
        label sets differ; normalized: the square root of the weight of these nodes, as in the loss
        of paths of nhsvm, which needs surrogate margin [leaves | nodes | normalized]
    tolerance : float, default 0.001
        bcfw and cutting planes: relative duality gap at which training stops [> 0]
    max_passes : int, default 1000
        bcfw and cutting planes: maximum number of passes over the rows; with partial labels, in
        each round [>= 1]
    epochs : int, default 50
        sgd: passes over the rows [>= 1]
    cost_matrix : str, default ""
        CSV file with the cost of predicting one label for another, used in place of the task loss:
        the first line names the predicted labels, the first cell of every other line the true
        label; the cost of the true label is 0
    partial_labels : bool, default False
        an inner node of the hierarchy as the label of a row says that the row's class is a leaf
        below it, unknown which, and is no answer of its own (rows with one label) [true | false]
    hierarchy : Any, default None
        hierarchy of the labels in any form that `Hierarchy.of` takes
    text : Any, default None
        column of X, a frame, that is text, whose terms become features; several as a list, or as a
        dict with the number of times that each counts. A name with a * stands for all columns that
        fit, and '*' for those that no other parameter names; also in the next three
    numeric : Any, default None
        columns of X that are numbers; missing ones become the mean and set a further feature
    categorical : Any, default None
        columns of X that are categories, each of which becomes a feature
    vector_columns : Any, default None
        columns of X that are one vector, such as an embedding: of numbers, or a column with a list
        or an array in each row, all of one length and without gaps
    vector_share : float | None, default None
        share of that vector in the squared norm of a row, in (0, 1); None: 0.7
    path : Any, default None
        column of X with the path of the label as one text, or a list of columns, one per level from
        the root down. The paths give the hierarchy, unless one is given; `fit` then takes no y
    separator : str, default " > "
        text between the names of a path in one column
    text_features : TextFeatures | None, default None
        a TextFeatures whose options the terms of texts have; None: its defaults
    class_weight : Any, default None
        factors of the row weights by class: None; "balanced": n / (k n_c) for n_c of n rows (with
        sample_weight, their weights) of class c of k classes; or a dict of classes and weights,
        where classes that it lacks have weight 1. For rows with one label
    unlabelled : str, default "auto"
        what a row without a label means: auto: a missing label, so that it is left out with a
        warning, where no row has several labels, otherwise the empty set; drop: a missing label;
        keep: the empty set, so that labels are sets whatever their sizes, where the method can
        learn it
    calibration : float, default 0.0
        share of the rows that is held out to fit the temperature of probabilities, and where rows
        have several labels a shift, which trains twice; 0: none
    scale : str, default "auto"
        columns of X: standard (mean 0, deviation 1), max-abs, robust (median, quartiles), common
        (mean 0, one divisor) or none; sparse rows are divided only. auto: dense rows get standard,
        or common where no column is large or all are of one scale; sparse counts whose rows differ
        in length become unit rows
    kernel_features : str, default "none"
        after all else, rows become N features whose inner products approximate the Gaussian kernel
        exp(-gamma ||x - z||^2): nystroem:N (of N random training rows), fourier:N (random Fourier
        features), or none; `seed` decides which
    kernel_gamma : float, default 0.0
        kernel_features: gamma; 0: 1 / (2 d^2) for the median distance d of training rows
    kernel_model : Any, default None
        kernel_features nystroem: a fitted estimator of kernels, such as SPNMKLClassifier, or the
        path of a model, whose learned kernel takes the place of the Gaussian one; rows get its
        preprocessing. Searches, which clone it, need the path or FrozenEstimator(estimator)
    warm_start : bool, default False
        fit continues the last one: from its dual variables if rows and labels are the same; with
        solver="sgd" by further epochs. The state for this is kept in memory, not in files
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    time_limit_seconds : float | None, default None
        time after which training ends with the best weights so far and a ConvergenceWarning
    memory_limit : float | None, default None
        refuse to train if the estimated memory exceeds this many GB (10^9 bytes); None: 90 % of
        what is free
    progress : Progress, default False
        True for a tqdm bar, or a function that is called with each report as keywords
    """

    _method = "hsvm"
    _several_labels = True

    # Longer than 60 lines: scikit-learn reads the parameters from the signature.
    def __init__(
        self,
        *,
        C: float | str = "auto",
        lambda_: float = 0.0,
        bias: float = 1.0,
        intercept_penalty: float = 1.0,
        seed: int = 0,
        decision: str = "auto",
        decision_folds: int = 3,
        decision_metric: str = "micro-f1",
        surrogate: str = "margin",
        search: str = "auto",
        solver: str = "auto",
        max_bans: int | str = "auto",
        search_tolerance: float | str = "auto",
        search_calls: int | str = "auto",
        convex_passes: int | str = "auto",
        learning_rate: float | str = "auto",
        alpha: str = "uniform",
        merge_duplicates: bool = False,
        inference: str = "exact",
        set_loss: str = "leaves",
        tolerance: float = 0.001,
        max_passes: int = 1000,
        epochs: int = 50,
        cost_matrix: str = "",
        partial_labels: bool = False,
        hierarchy: Any = None,
        text: Any = None,
        numeric: Any = None,
        categorical: Any = None,
        vector_columns: Any = None,
        vector_share: float | None = None,
        path: Any = None,
        separator: str = " > ",
        text_features: TextFeatures | None = None,
        class_weight: Any = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        kernel_features: str = "none",
        kernel_gamma: float = 0.0,
        kernel_model: Any = None,
        warm_start: bool = False,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.intercept_penalty = intercept_penalty
        self.seed = seed
        self.decision = decision
        self.decision_folds = decision_folds
        self.decision_metric = decision_metric
        self.surrogate = surrogate
        self.search = search
        self.solver = solver
        self.max_bans = max_bans
        self.search_tolerance = search_tolerance
        self.search_calls = search_calls
        self.convex_passes = convex_passes
        self.learning_rate = learning_rate
        self.alpha = alpha
        self.merge_duplicates = merge_duplicates
        self.inference = inference
        self.set_loss = set_loss
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.epochs = epochs
        self.cost_matrix = cost_matrix
        self.partial_labels = partial_labels
        self.hierarchy = hierarchy
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.vector_columns = vector_columns
        self.vector_share = vector_share
        self.path = path
        self.separator = separator
        self.text_features = text_features
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.calibration = calibration
        self.scale = scale
        self.kernel_features = kernel_features
        self.kernel_gamma = kernel_gamma
        self.kernel_model = kernel_model
        self.warm_start = warm_start
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress


class NHSVC(Incremental):
    """Normalized hierarchical SVM: paths of equal weight, normalized loss ([NHSVM]).

    Without a hierarchy all labels are roots. Rows with several labels get label sets: a wrong leaf
    then costs 1.

    Parameters
    ----------
    C : float | str, default "auto"
        loss weight: the objective is the regulariser plus C times the sum of the losses; auto: k /
        (mean of the training rows' squared norms), or k / (number of columns) where these are
        scaled, for a k of the method and its loss [auto or > 0]
    lambda_ : float, default 0.0
        regularisation strength instead of C: C = 1 / (2 lambda); 0: C is used [>= 0]
    bias : float, default 1.0
        value of the appended constant feature; 0: none [>= 0]
    intercept_penalty : float, default 1.0
        strength of the regulariser of the constant feature's weights, the intercepts, relative to
        that of the others; 0: intercepts are not regularised (flat-svm and level-svm one-vs-rest,
        top-down-svm, label-trees, flat-lr, hr-svm, hr-lr) [>= 0]
    seed : int, default 0
        seed of the random order of visits [>= 0]
    decision : str, default "auto"
        rows with several labels: the label set with the highest score (argmax), or with the highest
        one once a tuned number is added to the score of each leaf (offset); auto: offset where
        training rows have several labels, otherwise argmax [auto | argmax | offset]
    decision_folds : int, default 3
        folds of the cross-validation that tunes offset; they and the training itself share a time
        limit evenly [>= 2]
    decision_metric : str, default "micro-f1"
        what the offset is tuned for [micro-f1 | instance-f1 | macro-f1 | hierarchical-f1 |
        accuracy]
    surrogate : str, default "margin"
        function of margin violation and task loss: margin, slack, generalised:BETA,A, beta:BETA,
        log, prob, prob-convex, micro-f1 (label sets and sequences), normalized-difference (rows
        with one label)
    search : str, default "auto"
        how the most violating labelling is found; auto: margin for margin rescaling; for the others
        enumeration where the oracle looks at all labellings, otherwise convex-hull [auto | margin |
        sarawagi | binary | bisecting | angular | convex-hull | enumeration]
    solver : str, default "auto"
        bcfw (block-coordinate Frank-Wolfe), cutting-plane and one-slack stop at a duality gap, sgd
        (averaged stochastic subgradients) after its passes; auto: bcfw where the surrogate is
        affine in the margin, otherwise sgd [auto | bcfw | sgd | cutting-plane | one-slack]
    max_bans : int | str, default "auto"
        maximum number of rounds in which convex-hull search bans labellings to make a fractional
        optimum integral; auto: 10, and 0 by sgd [auto or >= 0]
    search_tolerance : float | str, default "auto"
        allowed error of a search: of the maximum, relative, for convex-hull and angular; of the
        logarithm of lambda for sarawagi, binary and bisecting; auto: 0.01 for convex-hull by sgd
        and for binary and bisecting, 0.001 for angular, 0.1 for sarawagi, otherwise 0 [auto or >=
        0]
    search_calls : int | str, default "auto"
        maximum number of oracle calls of one search; auto: 1000 for convex-hull and angular, 50 for
        sarawagi, binary and bisecting [auto or >= 1]
    convex_passes : int | str, default "auto"
        prob by sgd: number of first passes that train with its convex extension prob-convex, as
        prob is flat where margins are badly violated; auto: half of the passes, and 0 from the
        weights of an earlier model [auto or >= 0]
    learning_rate : float | str, default "auto"
        sgd: size of the first step; later ones fall, step t to rate / (1 + rate t / (C n)) with n
        examples; auto: C, and C / 11 from the weights of an earlier model [auto or > 0]
    alpha : str, default "share:0.5"
        rule of the node weights: uniform, leaves, power:RHO, directional, maxmin, share:S,
        relaxed:T
    merge_duplicates : bool, default False
        compute the weights on the hierarchy in which nodes with the same leaves below them are
        merged, and split each weight evenly over the copies [true | false]
    inference : str, default "exact"
        training rows with several labels on DAGs: the most violating label set, or the maximum of
        its linear relaxation; predictions are exact [exact | relaxed]
    set_loss : str, default "leaves"
        rows with several labels: what the task loss counts: the leaves, or the nodes, on which two
        label sets differ; normalized: the square root of the weight of these nodes, as in the loss
        of paths of nhsvm, which needs surrogate margin [leaves | nodes | normalized]
    tolerance : float, default 0.001
        bcfw and cutting planes: relative duality gap at which training stops [> 0]
    max_passes : int, default 1000
        bcfw and cutting planes: maximum number of passes over the rows; with partial labels, in
        each round [>= 1]
    epochs : int, default 50
        sgd: passes over the rows [>= 1]
    cost_matrix : str, default ""
        CSV file with the cost of predicting one label for another, used in place of the task loss:
        the first line names the predicted labels, the first cell of every other line the true
        label; the cost of the true label is 0
    partial_labels : bool, default False
        an inner node of the hierarchy as the label of a row says that the row's class is a leaf
        below it, unknown which, and is no answer of its own (rows with one label) [true | false]
    hierarchy : Any, default None
        hierarchy of the labels in any form that `Hierarchy.of` takes
    text : Any, default None
        column of X, a frame, that is text, whose terms become features; several as a list, or as a
        dict with the number of times that each counts. A name with a * stands for all columns that
        fit, and '*' for those that no other parameter names; also in the next three
    numeric : Any, default None
        columns of X that are numbers; missing ones become the mean and set a further feature
    categorical : Any, default None
        columns of X that are categories, each of which becomes a feature
    vector_columns : Any, default None
        columns of X that are one vector, such as an embedding: of numbers, or a column with a list
        or an array in each row, all of one length and without gaps
    vector_share : float | None, default None
        share of that vector in the squared norm of a row, in (0, 1); None: 0.7
    path : Any, default None
        column of X with the path of the label as one text, or a list of columns, one per level from
        the root down. The paths give the hierarchy, unless one is given; `fit` then takes no y
    separator : str, default " > "
        text between the names of a path in one column
    text_features : TextFeatures | None, default None
        a TextFeatures whose options the terms of texts have; None: its defaults
    class_weight : Any, default None
        factors of the row weights by class: None; "balanced": n / (k n_c) for n_c of n rows (with
        sample_weight, their weights) of class c of k classes; or a dict of classes and weights,
        where classes that it lacks have weight 1. For rows with one label
    unlabelled : str, default "auto"
        what a row without a label means: auto: a missing label, so that it is left out with a
        warning, where no row has several labels, otherwise the empty set; drop: a missing label;
        keep: the empty set, so that labels are sets whatever their sizes, where the method can
        learn it
    calibration : float, default 0.0
        share of the rows that is held out to fit the temperature of probabilities, and where rows
        have several labels a shift, which trains twice; 0: none
    scale : str, default "auto"
        columns of X: standard (mean 0, deviation 1), max-abs, robust (median, quartiles), common
        (mean 0, one divisor) or none; sparse rows are divided only. auto: dense rows get standard,
        or common where no column is large or all are of one scale; sparse counts whose rows differ
        in length become unit rows
    kernel_features : str, default "none"
        after all else, rows become N features whose inner products approximate the Gaussian kernel
        exp(-gamma ||x - z||^2): nystroem:N (of N random training rows), fourier:N (random Fourier
        features), or none; `seed` decides which
    kernel_gamma : float, default 0.0
        kernel_features: gamma; 0: 1 / (2 d^2) for the median distance d of training rows
    kernel_model : Any, default None
        kernel_features nystroem: a fitted estimator of kernels, such as SPNMKLClassifier, or the
        path of a model, whose learned kernel takes the place of the Gaussian one; rows get its
        preprocessing. Searches, which clone it, need the path or FrozenEstimator(estimator)
    warm_start : bool, default False
        fit continues the last one: from its dual variables if rows and labels are the same; with
        solver="sgd" by further epochs. The state for this is kept in memory, not in files
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    time_limit_seconds : float | None, default None
        time after which training ends with the best weights so far and a ConvergenceWarning
    memory_limit : float | None, default None
        refuse to train if the estimated memory exceeds this many GB (10^9 bytes); None: 90 % of
        what is free
    progress : Progress, default False
        True for a tqdm bar, or a function that is called with each report as keywords
    """

    _method = "nhsvm"
    _several_labels = True

    # Longer than 60 lines: scikit-learn reads the parameters from the signature.
    def __init__(
        self,
        *,
        C: float | str = "auto",
        lambda_: float = 0.0,
        bias: float = 1.0,
        intercept_penalty: float = 1.0,
        seed: int = 0,
        decision: str = "auto",
        decision_folds: int = 3,
        decision_metric: str = "micro-f1",
        surrogate: str = "margin",
        search: str = "auto",
        solver: str = "auto",
        max_bans: int | str = "auto",
        search_tolerance: float | str = "auto",
        search_calls: int | str = "auto",
        convex_passes: int | str = "auto",
        learning_rate: float | str = "auto",
        alpha: str = "share:0.5",
        merge_duplicates: bool = False,
        inference: str = "exact",
        set_loss: str = "leaves",
        tolerance: float = 0.001,
        max_passes: int = 1000,
        epochs: int = 50,
        cost_matrix: str = "",
        partial_labels: bool = False,
        hierarchy: Any = None,
        text: Any = None,
        numeric: Any = None,
        categorical: Any = None,
        vector_columns: Any = None,
        vector_share: float | None = None,
        path: Any = None,
        separator: str = " > ",
        text_features: TextFeatures | None = None,
        class_weight: Any = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        kernel_features: str = "none",
        kernel_gamma: float = 0.0,
        kernel_model: Any = None,
        warm_start: bool = False,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.intercept_penalty = intercept_penalty
        self.seed = seed
        self.decision = decision
        self.decision_folds = decision_folds
        self.decision_metric = decision_metric
        self.surrogate = surrogate
        self.search = search
        self.solver = solver
        self.max_bans = max_bans
        self.search_tolerance = search_tolerance
        self.search_calls = search_calls
        self.convex_passes = convex_passes
        self.learning_rate = learning_rate
        self.alpha = alpha
        self.merge_duplicates = merge_duplicates
        self.inference = inference
        self.set_loss = set_loss
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.epochs = epochs
        self.cost_matrix = cost_matrix
        self.partial_labels = partial_labels
        self.hierarchy = hierarchy
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.vector_columns = vector_columns
        self.vector_share = vector_share
        self.path = path
        self.separator = separator
        self.text_features = text_features
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.calibration = calibration
        self.scale = scale
        self.kernel_features = kernel_features
        self.kernel_gamma = kernel_gamma
        self.kernel_model = kernel_model
        self.warm_start = warm_start
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress


class SharedSVC(Classifier):
    """Hierarchical SVM whose node weights are learned: the shared norm of [NHSVM].

    Without a hierarchy all labels are roots. Rows with several labels get label sets: a wrong leaf
    then costs 1.

    Parameters
    ----------
    C : float | str, default "auto"
        loss weight: the objective is the regulariser plus C times the sum of the losses; auto: k /
        (mean of the training rows' squared norms), or k / (number of columns) where these are
        scaled, for a k of the method and its loss [auto or > 0]
    lambda_ : float, default 0.0
        regularisation strength instead of C: C = 1 / (2 lambda); 0: C is used [>= 0]
    bias : float, default 1.0
        value of the appended constant feature; 0: none [>= 0]
    intercept_penalty : float, default 1.0
        strength of the regulariser of the constant feature's weights, the intercepts, relative to
        that of the others; 0: intercepts are not regularised (flat-svm and level-svm one-vs-rest,
        top-down-svm, label-trees, flat-lr, hr-svm, hr-lr) [>= 0]
    seed : int, default 0
        seed of the random order of visits [>= 0]
    decision : str, default "auto"
        rows with several labels: the label set with the highest score (argmax), or with the highest
        one once a tuned number is added to the score of each leaf (offset); auto: offset where
        training rows have several labels, otherwise argmax [auto | argmax | offset]
    decision_folds : int, default 3
        folds of the cross-validation that tunes offset; they and the training itself share a time
        limit evenly [>= 2]
    decision_metric : str, default "micro-f1"
        what the offset is tuned for [micro-f1 | instance-f1 | macro-f1 | hierarchical-f1 |
        accuracy]
    task_loss : str, default "zero-one"
        cost of a wrong path: 1, or the number of nodes on only one of the two paths; rows with
        several labels pay 1 for each wrong leaf [zero-one | hamming]
    solver : str, default "alternating"
        the best classifiers for given node weights and the best node weights in turn, up to a
        duality gap (alternating); or as the paper prints it, a few passes of stochastic
        subgradients and node weights by its algorithm 1 in turn, which has no gap (sgd; rows with
        one label on trees) [alternating | sgd]
    tolerance : float, default 0.001
        alternating: relative duality gap of the joint problem at which training stops [> 0]
    max_rounds : int | str, default "auto"
        maximum number of changes of the node weights; sgd makes all of them; auto: 200, and 3 for
        sgd [auto or >= 1]
    max_passes : int, default 1000
        alternating: maximum number of passes over the rows for one choice of node weights [>= 1]
    epochs : int, default 10
        sgd: passes over the rows for each choice of node weights [>= 1]
    cost_matrix : str, default ""
        CSV file with the cost of predicting one label for another, used in place of the task loss:
        the first line names the predicted labels, the first cell of every other line the true
        label; the cost of the true label is 0
    hierarchy : Any, default None
        hierarchy of the labels in any form that `Hierarchy.of` takes
    text : Any, default None
        column of X, a frame, that is text, whose terms become features; several as a list, or as a
        dict with the number of times that each counts. A name with a * stands for all columns that
        fit, and '*' for those that no other parameter names; also in the next three
    numeric : Any, default None
        columns of X that are numbers; missing ones become the mean and set a further feature
    categorical : Any, default None
        columns of X that are categories, each of which becomes a feature
    vector_columns : Any, default None
        columns of X that are one vector, such as an embedding: of numbers, or a column with a list
        or an array in each row, all of one length and without gaps
    vector_share : float | None, default None
        share of that vector in the squared norm of a row, in (0, 1); None: 0.7
    path : Any, default None
        column of X with the path of the label as one text, or a list of columns, one per level from
        the root down. The paths give the hierarchy, unless one is given; `fit` then takes no y
    separator : str, default " > "
        text between the names of a path in one column
    text_features : TextFeatures | None, default None
        a TextFeatures whose options the terms of texts have; None: its defaults
    class_weight : Any, default None
        factors of the row weights by class: None; "balanced": n / (k n_c) for n_c of n rows (with
        sample_weight, their weights) of class c of k classes; or a dict of classes and weights,
        where classes that it lacks have weight 1. For rows with one label
    unlabelled : str, default "auto"
        what a row without a label means: auto: a missing label, so that it is left out with a
        warning, where no row has several labels, otherwise the empty set; drop: a missing label;
        keep: the empty set, so that labels are sets whatever their sizes, where the method can
        learn it
    calibration : float, default 0.0
        share of the rows that is held out to fit the temperature of probabilities, and where rows
        have several labels a shift, which trains twice; 0: none
    scale : str, default "auto"
        columns of X: standard (mean 0, deviation 1), max-abs, robust (median, quartiles), common
        (mean 0, one divisor) or none; sparse rows are divided only. auto: dense rows get standard,
        or common where no column is large or all are of one scale; sparse counts whose rows differ
        in length become unit rows
    kernel_features : str, default "none"
        after all else, rows become N features whose inner products approximate the Gaussian kernel
        exp(-gamma ||x - z||^2): nystroem:N (of N random training rows), fourier:N (random Fourier
        features), or none; `seed` decides which
    kernel_gamma : float, default 0.0
        kernel_features: gamma; 0: 1 / (2 d^2) for the median distance d of training rows
    kernel_model : Any, default None
        kernel_features nystroem: a fitted estimator of kernels, such as SPNMKLClassifier, or the
        path of a model, whose learned kernel takes the place of the Gaussian one; rows get its
        preprocessing. Searches, which clone it, need the path or FrozenEstimator(estimator)
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    time_limit_seconds : float | None, default None
        time after which training ends with the best weights so far and a ConvergenceWarning
    memory_limit : float | None, default None
        refuse to train if the estimated memory exceeds this many GB (10^9 bytes); None: 90 % of
        what is free
    progress : Progress, default False
        True for a tqdm bar, or a function that is called with each report as keywords
    """

    _method = "shared-svm"
    _several_labels = True

    # Longer than 60 lines: scikit-learn reads the parameters from the signature.
    def __init__(
        self,
        *,
        C: float | str = "auto",
        lambda_: float = 0.0,
        bias: float = 1.0,
        intercept_penalty: float = 1.0,
        seed: int = 0,
        decision: str = "auto",
        decision_folds: int = 3,
        decision_metric: str = "micro-f1",
        task_loss: str = "zero-one",
        solver: str = "alternating",
        tolerance: float = 0.001,
        max_rounds: int | str = "auto",
        max_passes: int = 1000,
        epochs: int = 10,
        cost_matrix: str = "",
        hierarchy: Any = None,
        text: Any = None,
        numeric: Any = None,
        categorical: Any = None,
        vector_columns: Any = None,
        vector_share: float | None = None,
        path: Any = None,
        separator: str = " > ",
        text_features: TextFeatures | None = None,
        class_weight: Any = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        kernel_features: str = "none",
        kernel_gamma: float = 0.0,
        kernel_model: Any = None,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.intercept_penalty = intercept_penalty
        self.seed = seed
        self.decision = decision
        self.decision_folds = decision_folds
        self.decision_metric = decision_metric
        self.task_loss = task_loss
        self.solver = solver
        self.tolerance = tolerance
        self.max_rounds = max_rounds
        self.max_passes = max_passes
        self.epochs = epochs
        self.cost_matrix = cost_matrix
        self.hierarchy = hierarchy
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.vector_columns = vector_columns
        self.vector_share = vector_share
        self.path = path
        self.separator = separator
        self.text_features = text_features
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.calibration = calibration
        self.scale = scale
        self.kernel_features = kernel_features
        self.kernel_gamma = kernel_gamma
        self.kernel_model = kernel_model
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress


class HRSVC(Classifier):
    """SVMs of the leaves, regularised towards their parents in the hierarchy (HR-SVM in [HR]).

    Without a hierarchy it is FlatSVC. Rows may have several labels.

    Parameters
    ----------
    C : float | str, default "auto"
        loss weight: the objective is the regulariser plus C times the sum of the losses; auto: k /
        (mean of the training rows' squared norms), or k / (number of columns) where these are
        scaled, for a k of the method and its loss [auto or > 0]
    lambda_ : float, default 0.0
        regularisation strength instead of C: C = 1 / (2 lambda); 0: C is used [>= 0]
    bias : float, default 1.0
        value of the appended constant feature; 0: none [>= 0]
    intercept_penalty : float, default 1.0
        strength of the regulariser of the constant feature's weights, the intercepts, relative to
        that of the others; 0: intercepts are not regularised (flat-svm and level-svm one-vs-rest,
        top-down-svm, label-trees, flat-lr, hr-svm, hr-lr) [>= 0]
    seed : int, default 0
        seed of the random order of visits [>= 0]
    decision : str, default "auto"
        labels of a row from its scores: the best one (argmax); those above zero; those above one
        threshold for all labels (threshold), one for each (scut), or one for each that is shrunk
        towards a common one (shrunk); a fixed number of best ones (rcut); those above a threshold
        predicted from the row's scores (instance); auto: the better one of instance and threshold
        where training rows have several labels, otherwise argmax [auto | argmax | zero | threshold
        | scut | shrunk | rcut | instance]
    decision_folds : int, default 3
        folds of the cross-validation whose scores tune threshold, scut, shrunk, rcut and instance,
        and fit the level weights of level-svm; they and the training itself share a time limit
        evenly [>= 2]
    alpha : str, default "uniform"
        rule of the node weights: uniform (the paper's), leaves, power:RHO, directional, maxmin,
        share:S, relaxed:T
    dag : str, default "additive"
        nodes with several parents: the classifier of a leaf is the sum over all its ancestors, or
        each node is regularised towards every parent; the same on trees [additive | graph]
    label_graph : str, default ""
        instead of a hierarchy's edges: file of pairs of labels, one per line, whose classifiers are
        regularised towards each other (hr-svm: alternating solver)
    anchor : str, default ""
        with a label graph: strength x of the regularisation towards zero, for all labels, or as
        LABEL=x,LABEL=x for some
    tolerance : float, default 0.001
        relative duality gap at which training stops; where nodes are solved in turn (alternating;
        hr-lr on label graphs without anchors): relative change of the objective [> 0]
    max_passes : int, default 1000
        maximum number of passes over all labels [>= 1]
    partial_labels : bool, default False
        an inner node of the hierarchy as the label of a row says that the row's class is a leaf
        below it, unknown which, and is no answer of its own (rows with one label) [true | false]
    loss : str, default "hinge"
        loss of each row's margin [hinge | squared-hinge]
    solver : str, default "joint"
        dual coordinate descent over all leaves at once with a duality gap, or the paper's
        alternation between nodes [joint | alternating]
    hierarchy : Any, default None
        hierarchy of the labels in any form that `Hierarchy.of` takes
    text : Any, default None
        column of X, a frame, that is text, whose terms become features; several as a list, or as a
        dict with the number of times that each counts. A name with a * stands for all columns that
        fit, and '*' for those that no other parameter names; also in the next three
    numeric : Any, default None
        columns of X that are numbers; missing ones become the mean and set a further feature
    categorical : Any, default None
        columns of X that are categories, each of which becomes a feature
    vector_columns : Any, default None
        columns of X that are one vector, such as an embedding: of numbers, or a column with a list
        or an array in each row, all of one length and without gaps
    vector_share : float | None, default None
        share of that vector in the squared norm of a row, in (0, 1); None: 0.7
    path : Any, default None
        column of X with the path of the label as one text, or a list of columns, one per level from
        the root down. The paths give the hierarchy, unless one is given; `fit` then takes no y
    separator : str, default " > "
        text between the names of a path in one column
    text_features : TextFeatures | None, default None
        a TextFeatures whose options the terms of texts have; None: its defaults
    class_weight : Any, default None
        factors of the row weights by class: None; "balanced": n / (k n_c) for n_c of n rows (with
        sample_weight, their weights) of class c of k classes; or a dict of classes and weights,
        where classes that it lacks have weight 1. For rows with one label
    unlabelled : str, default "auto"
        what a row without a label means: auto: a missing label, so that it is left out with a
        warning, where no row has several labels, otherwise the empty set; drop: a missing label;
        keep: the empty set, so that labels are sets whatever their sizes, where the method can
        learn it
    calibration : float, default 0.0
        share of the rows that is held out to fit the temperature of probabilities, and where rows
        have several labels a shift, which trains twice; 0: none
    scale : str, default "auto"
        columns of X: standard (mean 0, deviation 1), max-abs, robust (median, quartiles), common
        (mean 0, one divisor) or none; sparse rows are divided only. auto: dense rows get standard,
        or common where no column is large or all are of one scale; sparse counts whose rows differ
        in length become unit rows
    kernel_features : str, default "none"
        after all else, rows become N features whose inner products approximate the Gaussian kernel
        exp(-gamma ||x - z||^2): nystroem:N (of N random training rows), fourier:N (random Fourier
        features), or none; `seed` decides which
    kernel_gamma : float, default 0.0
        kernel_features: gamma; 0: 1 / (2 d^2) for the median distance d of training rows
    kernel_model : Any, default None
        kernel_features nystroem: a fitted estimator of kernels, such as SPNMKLClassifier, or the
        path of a model, whose learned kernel takes the place of the Gaussian one; rows get its
        preprocessing. Searches, which clone it, need the path or FrozenEstimator(estimator)
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    time_limit_seconds : float | None, default None
        time after which training ends with the best weights so far and a ConvergenceWarning
    memory_limit : float | None, default None
        refuse to train if the estimated memory exceeds this many GB (10^9 bytes); None: 90 % of
        what is free
    progress : Progress, default False
        True for a tqdm bar, or a function that is called with each report as keywords
    """

    _method = "hr-svm"
    _several_labels = True

    # Longer than 60 lines: scikit-learn reads the parameters from the signature.
    def __init__(
        self,
        *,
        C: float | str = "auto",
        lambda_: float = 0.0,
        bias: float = 1.0,
        intercept_penalty: float = 1.0,
        seed: int = 0,
        decision: str = "auto",
        decision_folds: int = 3,
        alpha: str = "uniform",
        dag: str = "additive",
        label_graph: str = "",
        anchor: str = "",
        tolerance: float = 0.001,
        max_passes: int = 1000,
        partial_labels: bool = False,
        loss: str = "hinge",
        solver: str = "joint",
        hierarchy: Any = None,
        text: Any = None,
        numeric: Any = None,
        categorical: Any = None,
        vector_columns: Any = None,
        vector_share: float | None = None,
        path: Any = None,
        separator: str = " > ",
        text_features: TextFeatures | None = None,
        class_weight: Any = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        kernel_features: str = "none",
        kernel_gamma: float = 0.0,
        kernel_model: Any = None,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.intercept_penalty = intercept_penalty
        self.seed = seed
        self.decision = decision
        self.decision_folds = decision_folds
        self.alpha = alpha
        self.dag = dag
        self.label_graph = label_graph
        self.anchor = anchor
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.partial_labels = partial_labels
        self.loss = loss
        self.solver = solver
        self.hierarchy = hierarchy
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.vector_columns = vector_columns
        self.vector_share = vector_share
        self.path = path
        self.separator = separator
        self.text_features = text_features
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.calibration = calibration
        self.scale = scale
        self.kernel_features = kernel_features
        self.kernel_gamma = kernel_gamma
        self.kernel_model = kernel_model
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress


class HRLogisticRegression(Classifier):
    """Logistic regressions of the leaves, regularised towards their parents (HR-LR in [HR]).

    Without a hierarchy it is FlatLogisticRegression. One-vs-rest, whose rows may have several
    labels, or multinomial (`multiclass="softmax"`).

    Parameters
    ----------
    C : float | str, default "auto"
        loss weight: the objective is the regulariser plus C times the sum of the losses; auto: k /
        (mean of the training rows' squared norms), or k / (number of columns) where these are
        scaled, for a k of the method and its loss [auto or > 0]
    lambda_ : float, default 0.0
        regularisation strength instead of C: C = 1 / (2 lambda); 0: C is used [>= 0]
    bias : float, default 1.0
        value of the appended constant feature; 0: none [>= 0]
    intercept_penalty : float, default 1.0
        strength of the regulariser of the constant feature's weights, the intercepts, relative to
        that of the others; 0: intercepts are not regularised (flat-svm and level-svm one-vs-rest,
        top-down-svm, label-trees, flat-lr, hr-svm, hr-lr) [>= 0]
    seed : int, default 0
        seed of the random order of visits [>= 0]
    decision : str, default "auto"
        labels of a row from its scores: the best one (argmax); those above zero; those above one
        threshold for all labels (threshold), one for each (scut), or one for each that is shrunk
        towards a common one (shrunk); a fixed number of best ones (rcut); those above a threshold
        predicted from the row's scores (instance); auto: the better one of instance and threshold
        where training rows have several labels, otherwise argmax [auto | argmax | zero | threshold
        | scut | shrunk | rcut | instance]
    decision_folds : int, default 3
        folds of the cross-validation whose scores tune threshold, scut, shrunk, rcut and instance,
        and fit the level weights of level-svm; they and the training itself share a time limit
        evenly [>= 2]
    alpha : str, default "uniform"
        rule of the node weights: uniform (the paper's), leaves, power:RHO, directional, maxmin,
        share:S, relaxed:T
    dag : str, default "additive"
        nodes with several parents: the classifier of a leaf is the sum over all its ancestors, or
        each node is regularised towards every parent; the same on trees [additive | graph]
    label_graph : str, default ""
        instead of a hierarchy's edges: file of pairs of labels, one per line, whose classifiers are
        regularised towards each other (hr-svm: alternating solver)
    anchor : str, default ""
        with a label graph: strength x of the regularisation towards zero, for all labels, or as
        LABEL=x,LABEL=x for some
    tolerance : float, default 0.001
        relative duality gap at which training stops; where nodes are solved in turn (alternating;
        hr-lr on label graphs without anchors): relative change of the objective [> 0]
    max_passes : int, default 1000
        maximum number of passes over all labels [>= 1]
    partial_labels : bool, default False
        an inner node of the hierarchy as the label of a row says that the row's class is a leaf
        below it, unknown which, and is no answer of its own (rows with one label) [true | false]
    multiclass : str, default "ovr"
        logistic loss of each label against the rest, or of the softmax of all scores (multinomial;
        rows with one label, regularised intercepts, hierarchies that are nearly trees) [ovr |
        softmax]
    hierarchy : Any, default None
        hierarchy of the labels in any form that `Hierarchy.of` takes
    text : Any, default None
        column of X, a frame, that is text, whose terms become features; several as a list, or as a
        dict with the number of times that each counts. A name with a * stands for all columns that
        fit, and '*' for those that no other parameter names; also in the next three
    numeric : Any, default None
        columns of X that are numbers; missing ones become the mean and set a further feature
    categorical : Any, default None
        columns of X that are categories, each of which becomes a feature
    vector_columns : Any, default None
        columns of X that are one vector, such as an embedding: of numbers, or a column with a list
        or an array in each row, all of one length and without gaps
    vector_share : float | None, default None
        share of that vector in the squared norm of a row, in (0, 1); None: 0.7
    path : Any, default None
        column of X with the path of the label as one text, or a list of columns, one per level from
        the root down. The paths give the hierarchy, unless one is given; `fit` then takes no y
    separator : str, default " > "
        text between the names of a path in one column
    text_features : TextFeatures | None, default None
        a TextFeatures whose options the terms of texts have; None: its defaults
    class_weight : Any, default None
        factors of the row weights by class: None; "balanced": n / (k n_c) for n_c of n rows (with
        sample_weight, their weights) of class c of k classes; or a dict of classes and weights,
        where classes that it lacks have weight 1. For rows with one label
    unlabelled : str, default "auto"
        what a row without a label means: auto: a missing label, so that it is left out with a
        warning, where no row has several labels, otherwise the empty set; drop: a missing label;
        keep: the empty set, so that labels are sets whatever their sizes, where the method can
        learn it
    calibration : float, default 0.0
        share of the rows that is held out to fit the temperature of probabilities, and where rows
        have several labels a shift, which trains twice; 0: none
    scale : str, default "auto"
        columns of X: standard (mean 0, deviation 1), max-abs, robust (median, quartiles), common
        (mean 0, one divisor) or none; sparse rows are divided only. auto: dense rows get standard,
        or common where no column is large or all are of one scale; sparse counts whose rows differ
        in length become unit rows
    kernel_features : str, default "none"
        after all else, rows become N features whose inner products approximate the Gaussian kernel
        exp(-gamma ||x - z||^2): nystroem:N (of N random training rows), fourier:N (random Fourier
        features), or none; `seed` decides which
    kernel_gamma : float, default 0.0
        kernel_features: gamma; 0: 1 / (2 d^2) for the median distance d of training rows
    kernel_model : Any, default None
        kernel_features nystroem: a fitted estimator of kernels, such as SPNMKLClassifier, or the
        path of a model, whose learned kernel takes the place of the Gaussian one; rows get its
        preprocessing. Searches, which clone it, need the path or FrozenEstimator(estimator)
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    time_limit_seconds : float | None, default None
        time after which training ends with the best weights so far and a ConvergenceWarning
    memory_limit : float | None, default None
        refuse to train if the estimated memory exceeds this many GB (10^9 bytes); None: 90 % of
        what is free
    progress : Progress, default False
        True for a tqdm bar, or a function that is called with each report as keywords
    """

    _method = "hr-lr"
    _several_labels = True
    _logistic = True

    # Longer than 60 lines: scikit-learn reads the parameters from the signature.
    def __init__(
        self,
        *,
        C: float | str = "auto",
        lambda_: float = 0.0,
        bias: float = 1.0,
        intercept_penalty: float = 1.0,
        seed: int = 0,
        decision: str = "auto",
        decision_folds: int = 3,
        alpha: str = "uniform",
        dag: str = "additive",
        label_graph: str = "",
        anchor: str = "",
        tolerance: float = 0.001,
        max_passes: int = 1000,
        partial_labels: bool = False,
        multiclass: str = "ovr",
        hierarchy: Any = None,
        text: Any = None,
        numeric: Any = None,
        categorical: Any = None,
        vector_columns: Any = None,
        vector_share: float | None = None,
        path: Any = None,
        separator: str = " > ",
        text_features: TextFeatures | None = None,
        class_weight: Any = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        kernel_features: str = "none",
        kernel_gamma: float = 0.0,
        kernel_model: Any = None,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.intercept_penalty = intercept_penalty
        self.seed = seed
        self.decision = decision
        self.decision_folds = decision_folds
        self.alpha = alpha
        self.dag = dag
        self.label_graph = label_graph
        self.anchor = anchor
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.partial_labels = partial_labels
        self.multiclass = multiclass
        self.hierarchy = hierarchy
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.vector_columns = vector_columns
        self.vector_share = vector_share
        self.path = path
        self.separator = separator
        self.text_features = text_features
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.calibration = calibration
        self.scale = scale
        self.kernel_features = kernel_features
        self.kernel_gamma = kernel_gamma
        self.kernel_model = kernel_model
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress


class TopDownSVC(Classifier):
    """Top-down classification: linear SVMs among the children of each node (TD in [HR]).

    The hierarchy is a tree or DAG; without one it is FlatSVC. Rows may have several labels.

    Parameters
    ----------
    C : float | str, default "auto"
        loss weight: the objective is the regulariser plus C times the sum of the losses; auto: k /
        (mean of the training rows' squared norms), or k / (number of columns) where these are
        scaled, for a k of the method and its loss [auto or > 0]
    lambda_ : float, default 0.0
        regularisation strength instead of C: C = 1 / (2 lambda); 0: C is used [>= 0]
    bias : float, default 1.0
        value of the appended constant feature; 0: none [>= 0]
    intercept_penalty : float, default 1.0
        strength of the regulariser of the constant feature's weights, the intercepts, relative to
        that of the others; 0: intercepts are not regularised (flat-svm and level-svm one-vs-rest,
        top-down-svm, label-trees, flat-lr, hr-svm, hr-lr) [>= 0]
    seed : int, default 0
        seed of the random order of visits [>= 0]
    decision : str, default "auto"
        labels of a row from its scores: the best one (argmax); those above zero; those above one
        threshold for all labels (threshold), one for each (scut), or one for each that is shrunk
        towards a common one (shrunk); a fixed number of best ones (rcut); those above a threshold
        predicted from the row's scores (instance); auto: the better one of instance and threshold
        where training rows have several labels, otherwise argmax [auto | argmax | zero | threshold
        | scut | shrunk | rcut | instance]
    decision_folds : int, default 3
        folds of the cross-validation whose scores tune threshold, scut, shrunk, rcut and instance,
        and fit the level weights of level-svm; they and the training itself share a time limit
        evenly [>= 2]
    tolerance : float, default 0.001
        relative duality gap at which training of a node stops [> 0]
    max_passes : int, default 1000
        maximum number of passes over the rows of a node [>= 1]
    loss : str, default "hinge"
        loss of each row's margin [hinge | squared-hinge]
    beam : int, default 1
        number of most probable paths kept at each level, where a scale of the margins is learned on
        held-out rows (trains twice); 1: greedy, 0: all [>= 0]
    partial_labels : bool, default False
        an inner node of the hierarchy as the label of a row says that the row's class is a leaf
        below it, unknown which, and is no answer of its own (rows with one label) [true | false]
    hierarchy : Any, default None
        hierarchy of the labels in any form that `Hierarchy.of` takes
    text : Any, default None
        column of X, a frame, that is text, whose terms become features; several as a list, or as a
        dict with the number of times that each counts. A name with a * stands for all columns that
        fit, and '*' for those that no other parameter names; also in the next three
    numeric : Any, default None
        columns of X that are numbers; missing ones become the mean and set a further feature
    categorical : Any, default None
        columns of X that are categories, each of which becomes a feature
    vector_columns : Any, default None
        columns of X that are one vector, such as an embedding: of numbers, or a column with a list
        or an array in each row, all of one length and without gaps
    vector_share : float | None, default None
        share of that vector in the squared norm of a row, in (0, 1); None: 0.7
    path : Any, default None
        column of X with the path of the label as one text, or a list of columns, one per level from
        the root down. The paths give the hierarchy, unless one is given; `fit` then takes no y
    separator : str, default " > "
        text between the names of a path in one column
    text_features : TextFeatures | None, default None
        a TextFeatures whose options the terms of texts have; None: its defaults
    class_weight : Any, default None
        factors of the row weights by class: None; "balanced": n / (k n_c) for n_c of n rows (with
        sample_weight, their weights) of class c of k classes; or a dict of classes and weights,
        where classes that it lacks have weight 1. For rows with one label
    unlabelled : str, default "auto"
        what a row without a label means: auto: a missing label, so that it is left out with a
        warning, where no row has several labels, otherwise the empty set; drop: a missing label;
        keep: the empty set, so that labels are sets whatever their sizes, where the method can
        learn it
    calibration : float, default 0.0
        share of the rows that is held out to fit the temperature of probabilities, and where rows
        have several labels a shift, which trains twice; 0: none
    scale : str, default "auto"
        columns of X: standard (mean 0, deviation 1), max-abs, robust (median, quartiles), common
        (mean 0, one divisor) or none; sparse rows are divided only. auto: dense rows get standard,
        or common where no column is large or all are of one scale; sparse counts whose rows differ
        in length become unit rows
    kernel_features : str, default "none"
        after all else, rows become N features whose inner products approximate the Gaussian kernel
        exp(-gamma ||x - z||^2): nystroem:N (of N random training rows), fourier:N (random Fourier
        features), or none; `seed` decides which
    kernel_gamma : float, default 0.0
        kernel_features: gamma; 0: 1 / (2 d^2) for the median distance d of training rows
    kernel_model : Any, default None
        kernel_features nystroem: a fitted estimator of kernels, such as SPNMKLClassifier, or the
        path of a model, whose learned kernel takes the place of the Gaussian one; rows get its
        preprocessing. Searches, which clone it, need the path or FrozenEstimator(estimator)
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    time_limit_seconds : float | None, default None
        time after which training ends with the best weights so far and a ConvergenceWarning
    memory_limit : float | None, default None
        refuse to train if the estimated memory exceeds this many GB (10^9 bytes); None: 90 % of
        what is free
    progress : Progress, default False
        True for a tqdm bar, or a function that is called with each report as keywords
    """

    _method = "top-down-svm"
    _several_labels = True

    # Longer than 60 lines: scikit-learn reads the parameters from the signature.
    def __init__(
        self,
        *,
        C: float | str = "auto",
        lambda_: float = 0.0,
        bias: float = 1.0,
        intercept_penalty: float = 1.0,
        seed: int = 0,
        decision: str = "auto",
        decision_folds: int = 3,
        tolerance: float = 0.001,
        max_passes: int = 1000,
        loss: str = "hinge",
        beam: int = 1,
        partial_labels: bool = False,
        hierarchy: Any = None,
        text: Any = None,
        numeric: Any = None,
        categorical: Any = None,
        vector_columns: Any = None,
        vector_share: float | None = None,
        path: Any = None,
        separator: str = " > ",
        text_features: TextFeatures | None = None,
        class_weight: Any = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        kernel_features: str = "none",
        kernel_gamma: float = 0.0,
        kernel_model: Any = None,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.intercept_penalty = intercept_penalty
        self.seed = seed
        self.decision = decision
        self.decision_folds = decision_folds
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.loss = loss
        self.beam = beam
        self.partial_labels = partial_labels
        self.hierarchy = hierarchy
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.vector_columns = vector_columns
        self.vector_share = vector_share
        self.path = path
        self.separator = separator
        self.text_features = text_features
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.calibration = calibration
        self.scale = scale
        self.kernel_features = kernel_features
        self.kernel_gamma = kernel_gamma
        self.kernel_model = kernel_model
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress


class LabelTreesSVC(Classifier):
    """Learned trees of many labels: linear SVMs among the children of each node, averaged.

    The trees are learned from the labels' rows, as those of Parabel; a hierarchy plays no part in
    training. Rows may have several labels.

    Parameters
    ----------
    C : float | str, default "auto"
        loss weight: the objective is the regulariser plus C times the sum of the losses; auto: k /
        (mean of the training rows' squared norms), or k / (number of columns) where these are
        scaled, for a k of the method and its loss [auto or > 0]
    lambda_ : float, default 0.0
        regularisation strength instead of C: C = 1 / (2 lambda); 0: C is used [>= 0]
    bias : float, default 1.0
        value of the appended constant feature; 0: none [>= 0]
    intercept_penalty : float, default 1.0
        strength of the regulariser of the constant feature's weights, the intercepts, relative to
        that of the others; 0: intercepts are not regularised (flat-svm and level-svm one-vs-rest,
        top-down-svm, label-trees, flat-lr, hr-svm, hr-lr) [>= 0]
    seed : int, default 0
        seed of the random order of visits [>= 0]
    decision : str, default "auto"
        labels of a row from its scores: the best one (argmax); those above zero; those above one
        threshold for all labels (threshold), one for each (scut), or one for each that is shrunk
        towards a common one (shrunk); a fixed number of best ones (rcut); those above a threshold
        predicted from the row's scores (instance); auto: the better one of instance and threshold
        where training rows have several labels, otherwise argmax [auto | argmax | zero | threshold
        | scut | shrunk | rcut | instance]
    decision_folds : int, default 3
        folds of the cross-validation whose scores tune threshold, scut, shrunk, rcut and instance,
        and fit the level weights of level-svm; they and the training itself share a time limit
        evenly [>= 2]
    tolerance : float, default 0.001
        relative duality gap at which training of a node stops [> 0]
    max_passes : int, default 1000
        maximum number of passes over the rows of a node [>= 1]
    loss : str, default "squared-hinge"
        loss of each row's margin [hinge | squared-hinge]
    trees : int, default 3
        number of learned trees, whose probabilities are averaged; one for up to max_leaves labels
        [>= 1]
    one_vs_rest : bool, default True
        whether one-vs-rest classifiers of all labels are one more tree [true | false]
    max_leaves : int, default 100
        labels are divided into halves until a half has at most so many [>= 2]
    beam : int, default 10
        number of most probable inner nodes kept at each level of a tree; 0: all [>= 0]
    hierarchy : Any, default None
        hierarchy of the labels in any form that `Hierarchy.of` takes
    text : Any, default None
        column of X, a frame, that is text, whose terms become features; several as a list, or as a
        dict with the number of times that each counts. A name with a * stands for all columns that
        fit, and '*' for those that no other parameter names; also in the next three
    numeric : Any, default None
        columns of X that are numbers; missing ones become the mean and set a further feature
    categorical : Any, default None
        columns of X that are categories, each of which becomes a feature
    vector_columns : Any, default None
        columns of X that are one vector, such as an embedding: of numbers, or a column with a list
        or an array in each row, all of one length and without gaps
    vector_share : float | None, default None
        share of that vector in the squared norm of a row, in (0, 1); None: 0.7
    path : Any, default None
        column of X with the path of the label as one text, or a list of columns, one per level from
        the root down. The paths give the hierarchy, unless one is given; `fit` then takes no y
    separator : str, default " > "
        text between the names of a path in one column
    text_features : TextFeatures | None, default None
        a TextFeatures whose options the terms of texts have; None: its defaults
    class_weight : Any, default None
        factors of the row weights by class: None; "balanced": n / (k n_c) for n_c of n rows (with
        sample_weight, their weights) of class c of k classes; or a dict of classes and weights,
        where classes that it lacks have weight 1. For rows with one label
    unlabelled : str, default "auto"
        what a row without a label means: auto: a missing label, so that it is left out with a
        warning, where no row has several labels, otherwise the empty set; drop: a missing label;
        keep: the empty set, so that labels are sets whatever their sizes, where the method can
        learn it
    calibration : float, default 0.0
        share of the rows that is held out to fit the temperature of probabilities, and where rows
        have several labels a shift, which trains twice; 0: none
    scale : str, default "auto"
        columns of X: standard (mean 0, deviation 1), max-abs, robust (median, quartiles), common
        (mean 0, one divisor) or none; sparse rows are divided only. auto: dense rows get standard,
        or common where no column is large or all are of one scale; sparse counts whose rows differ
        in length become unit rows
    kernel_features : str, default "none"
        after all else, rows become N features whose inner products approximate the Gaussian kernel
        exp(-gamma ||x - z||^2): nystroem:N (of N random training rows), fourier:N (random Fourier
        features), or none; `seed` decides which
    kernel_gamma : float, default 0.0
        kernel_features: gamma; 0: 1 / (2 d^2) for the median distance d of training rows
    kernel_model : Any, default None
        kernel_features nystroem: a fitted estimator of kernels, such as SPNMKLClassifier, or the
        path of a model, whose learned kernel takes the place of the Gaussian one; rows get its
        preprocessing. Searches, which clone it, need the path or FrozenEstimator(estimator)
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    time_limit_seconds : float | None, default None
        time after which training ends with the best weights so far and a ConvergenceWarning
    memory_limit : float | None, default None
        refuse to train if the estimated memory exceeds this many GB (10^9 bytes); None: 90 % of
        what is free
    progress : Progress, default False
        True for a tqdm bar, or a function that is called with each report as keywords
    """

    _method = "label-trees"
    _several_labels = True

    # Longer than 60 lines: scikit-learn reads the parameters from the signature.
    def __init__(
        self,
        *,
        C: float | str = "auto",
        lambda_: float = 0.0,
        bias: float = 1.0,
        intercept_penalty: float = 1.0,
        seed: int = 0,
        decision: str = "auto",
        decision_folds: int = 3,
        tolerance: float = 0.001,
        max_passes: int = 1000,
        loss: str = "squared-hinge",
        trees: int = 3,
        one_vs_rest: bool = True,
        max_leaves: int = 100,
        beam: int = 10,
        hierarchy: Any = None,
        text: Any = None,
        numeric: Any = None,
        categorical: Any = None,
        vector_columns: Any = None,
        vector_share: float | None = None,
        path: Any = None,
        separator: str = " > ",
        text_features: TextFeatures | None = None,
        class_weight: Any = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        kernel_features: str = "none",
        kernel_gamma: float = 0.0,
        kernel_model: Any = None,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.intercept_penalty = intercept_penalty
        self.seed = seed
        self.decision = decision
        self.decision_folds = decision_folds
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.loss = loss
        self.trees = trees
        self.one_vs_rest = one_vs_rest
        self.max_leaves = max_leaves
        self.beam = beam
        self.hierarchy = hierarchy
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.vector_columns = vector_columns
        self.vector_share = vector_share
        self.path = path
        self.separator = separator
        self.text_features = text_features
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.calibration = calibration
        self.scale = scale
        self.kernel_features = kernel_features
        self.kernel_gamma = kernel_gamma
        self.kernel_model = kernel_model
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress


class LevelSVC(Leveled):
    """Linear SVMs at all levels of the hierarchy, summed with a weight for each level.

    The level weights are fitted on held-out rows: `level_weights_` after `fit`, from the roots
    down. Without a hierarchy all labels are roots. Rows may have several labels.

    Parameters
    ----------
    C : float | str, default "auto"
        loss weight: the objective is the regulariser plus C times the sum of the losses; auto: k /
        (mean of the training rows' squared norms), or k / (number of columns) where these are
        scaled, for a k of the method and its loss [auto or > 0]
    lambda_ : float, default 0.0
        regularisation strength instead of C: C = 1 / (2 lambda); 0: C is used [>= 0]
    bias : float, default 1.0
        value of the appended constant feature; 0: none [>= 0]
    intercept_penalty : float, default 1.0
        strength of the regulariser of the constant feature's weights, the intercepts, relative to
        that of the others; 0: intercepts are not regularised (flat-svm and level-svm one-vs-rest,
        top-down-svm, label-trees, flat-lr, hr-svm, hr-lr) [>= 0]
    seed : int, default 0
        seed of the random order of visits [>= 0]
    decision : str, default "auto"
        labels of a row from its scores: the best one (argmax); those above zero; those above one
        threshold for all labels (threshold), one for each (scut), or one for each that is shrunk
        towards a common one (shrunk); a fixed number of best ones (rcut); those above a threshold
        predicted from the row's scores (instance); auto: the better one of instance and threshold
        where training rows have several labels, otherwise argmax [auto | argmax | zero | threshold
        | scut | shrunk | rcut | instance]
    decision_folds : int, default 3
        folds of the cross-validation whose scores tune threshold, scut, shrunk, rcut and instance,
        and fit the level weights of level-svm; they and the training itself share a time limit
        evenly [>= 2]
    tolerance : float, default 0.001
        relative duality gap at which training of a node stops [> 0]
    max_passes : int, default 1000
        maximum number of passes over the rows for a node [>= 1]
    match_names : bool | str, default "auto"
        rows of texts (auto: where labels have names and bias is not 0; false: never): the
        similarity of a text to the names of a label (of --label-names, names and alternative names
        of SKOS, names and synonyms of OBO; or the label itself, where none has a name and at least
        half of them are words) adds to its score, with a weight fitted by a cross-validation in
        decision_folds; labels with names and without rows can be answered, too [auto | true |
        false]
    loss : str, default "squared-hinge"
        ovr: loss of each row's margin; crammer-singer has the hinge [hinge | squared-hinge]
    multiclass : str, default "auto"
        rows with one label: the nodes of a level in one problem, where each row has one of them, or
        each node against the rest, which alone trains in shards; auto: crammer-singer, but ovr
        where rows have several labels, intercepts are free, or a level has more than 2.5e8 pairs of
        a column and a node [auto | ovr | crammer-singer]
    stack : str, default "auto"
        scores that are added to those of the levels, with weights fitted on the same held-out rows:
        some of centroids (the cosine of a row and the mean of a leaf's rows) and, of rows with one
        label, nhsvm and flat-lr, separated by commas (in a grid by +), or none; auto: centroids
        where at least 1000 rows are sparse and of one length, as of texts; nhsvm and flat-lr where
        rows are dense and have one label, at least 1000 of them differ and more than there are
        columns, no names of labels count, intercepts are not free and multiclass is not ovr;
        otherwise none
    hierarchy : Any, default None
        hierarchy of the labels in any form that `Hierarchy.of` takes
    text : Any, default None
        column of X, a frame, that is text, whose terms become features; several as a list, or as a
        dict with the number of times that each counts. A name with a * stands for all columns that
        fit, and '*' for those that no other parameter names; also in the next three
    numeric : Any, default None
        columns of X that are numbers; missing ones become the mean and set a further feature
    categorical : Any, default None
        columns of X that are categories, each of which becomes a feature
    vector_columns : Any, default None
        columns of X that are one vector, such as an embedding: of numbers, or a column with a list
        or an array in each row, all of one length and without gaps
    vector_share : float | None, default None
        share of that vector in the squared norm of a row, in (0, 1); None: 0.7
    path : Any, default None
        column of X with the path of the label as one text, or a list of columns, one per level from
        the root down. The paths give the hierarchy, unless one is given; `fit` then takes no y
    separator : str, default " > "
        text between the names of a path in one column
    text_features : TextFeatures | None, default None
        a TextFeatures whose options the terms of texts have; None: its defaults
    class_weight : Any, default None
        factors of the row weights by class: None; "balanced": n / (k n_c) for n_c of n rows (with
        sample_weight, their weights) of class c of k classes; or a dict of classes and weights,
        where classes that it lacks have weight 1. For rows with one label
    unlabelled : str, default "auto"
        what a row without a label means: auto: a missing label, so that it is left out with a
        warning, where no row has several labels, otherwise the empty set; drop: a missing label;
        keep: the empty set, so that labels are sets whatever their sizes, where the method can
        learn it
    calibration : float, default 0.0
        share of the rows that is held out to fit the temperature of probabilities, and where rows
        have several labels a shift, which trains twice; 0: none
    scale : str, default "auto"
        columns of X: standard (mean 0, deviation 1), max-abs, robust (median, quartiles), common
        (mean 0, one divisor) or none; sparse rows are divided only. auto: dense rows get standard,
        or common where no column is large or all are of one scale; sparse counts whose rows differ
        in length become unit rows
    kernel_features : str, default "none"
        after all else, rows become N features whose inner products approximate the Gaussian kernel
        exp(-gamma ||x - z||^2): nystroem:N (of N random training rows), fourier:N (random Fourier
        features), or none; `seed` decides which
    kernel_gamma : float, default 0.0
        kernel_features: gamma; 0: 1 / (2 d^2) for the median distance d of training rows
    kernel_model : Any, default None
        kernel_features nystroem: a fitted estimator of kernels, such as SPNMKLClassifier, or the
        path of a model, whose learned kernel takes the place of the Gaussian one; rows get its
        preprocessing. Searches, which clone it, need the path or FrozenEstimator(estimator)
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    time_limit_seconds : float | None, default None
        time after which training ends with the best weights so far and a ConvergenceWarning
    memory_limit : float | None, default None
        refuse to train if the estimated memory exceeds this many GB (10^9 bytes); None: 90 % of
        what is free
    progress : Progress, default False
        True for a tqdm bar, or a function that is called with each report as keywords
    """

    _method = "level-svm"
    _several_labels = True

    # Longer than 60 lines: scikit-learn reads the parameters from the signature.
    def __init__(
        self,
        *,
        C: float | str = "auto",
        lambda_: float = 0.0,
        bias: float = 1.0,
        intercept_penalty: float = 1.0,
        seed: int = 0,
        decision: str = "auto",
        decision_folds: int = 3,
        tolerance: float = 0.001,
        max_passes: int = 1000,
        match_names: bool | str = "auto",
        loss: str = "squared-hinge",
        multiclass: str = "auto",
        stack: str = "auto",
        hierarchy: Any = None,
        text: Any = None,
        numeric: Any = None,
        categorical: Any = None,
        vector_columns: Any = None,
        vector_share: float | None = None,
        path: Any = None,
        separator: str = " > ",
        text_features: TextFeatures | None = None,
        class_weight: Any = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        kernel_features: str = "none",
        kernel_gamma: float = 0.0,
        kernel_model: Any = None,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.intercept_penalty = intercept_penalty
        self.seed = seed
        self.decision = decision
        self.decision_folds = decision_folds
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.match_names = match_names
        self.loss = loss
        self.multiclass = multiclass
        self.stack = stack
        self.hierarchy = hierarchy
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.vector_columns = vector_columns
        self.vector_share = vector_share
        self.path = path
        self.separator = separator
        self.text_features = text_features
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.calibration = calibration
        self.scale = scale
        self.kernel_features = kernel_features
        self.kernel_gamma = kernel_gamma
        self.kernel_model = kernel_model
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress


class KernelRidgeClassifier(Unweighted):
    """Kernel ridge regression of every node of the hierarchy, for rows with several labels.

    Width and strengths are chosen by leave-one-out scores in closed form. `decision_function`
    estimates the probability that a row has the label or one below it. It takes no row weights.

    Parameters
    ----------
    kernel : str, default "auto"
        of distances: exponential exp(-d/w), gaussian exp(-d^2/2w^2), laplacian exp(-d_1/w); auto:
        the mean of the three [auto | exponential | gaussian | laplacian]
    widths : str, default "0.5,1,2"
        widths to choose from by the average precision of left-out scores, in medians of the
        distance
    lambda_ : float, default 0.0
        strength of the regularisation; 0: each node has the one with the smallest square error of
        left-out scores [>= 0]
    sharing : float, default 10.0
        strength of the penalty on differences between a node's score and its prediction from the
        scores of all nodes; 0: each node keeps its own score [>= 0]
    tuning_rows : int, default 3000
        the width and the strengths are chosen on no more training rows than this [>= 2]
    max_rows : int, default 20000
        with more training rows, whose kernel matrix would be too large, regressions are sums over
        the kernels of landmarks (Nystroem's method) [>= 2]
    landmarks : int, default 3000
        number of random training rows that are landmarks where rows are more than max_rows [>= 2]
    seed : int, default 0
        seed of the choice of the tuning rows and of the landmarks [>= 0]
    hierarchy : Any, default None
        hierarchy of the labels in any form that `Hierarchy.of` takes
    text : Any, default None
        column of X, a frame, that is text, whose terms become features; several as a list, or as a
        dict with the number of times that each counts. A name with a * stands for all columns that
        fit, and '*' for those that no other parameter names; also in the next three
    numeric : Any, default None
        columns of X that are numbers; missing ones become the mean and set a further feature
    categorical : Any, default None
        columns of X that are categories, each of which becomes a feature
    vector_columns : Any, default None
        columns of X that are one vector, such as an embedding: of numbers, or a column with a list
        or an array in each row, all of one length and without gaps
    vector_share : float | None, default None
        share of that vector in the squared norm of a row, in (0, 1); None: 0.7
    path : Any, default None
        column of X with the path of the label as one text, or a list of columns, one per level from
        the root down. The paths give the hierarchy, unless one is given; `fit` then takes no y
    separator : str, default " > "
        text between the names of a path in one column
    text_features : TextFeatures | None, default None
        a TextFeatures whose options the terms of texts have; None: its defaults
    unlabelled : str, default "auto"
        what a row without a label means: auto: a missing label, so that it is left out with a
        warning, where no row has several labels, otherwise the empty set; drop: a missing label;
        keep: the empty set, so that labels are sets whatever their sizes, where the method can
        learn it
    calibration : float, default 0.0
        share of the rows that is held out to fit the temperature of probabilities, and where rows
        have several labels a shift, which trains twice; 0: none
    scale : str, default "auto"
        columns of X: standard (mean 0, deviation 1), max-abs, robust (median, quartiles), common
        (mean 0, one divisor) or none; sparse rows are divided only. auto: dense rows get standard,
        or common where no column is large or all are of one scale; sparse counts whose rows differ
        in length become unit rows
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    time_limit_seconds : float | None, default None
        time after which training ends with the best weights so far and a ConvergenceWarning
    memory_limit : float | None, default None
        refuse to train if the estimated memory exceeds this many GB (10^9 bytes); None: 90 % of
        what is free
    progress : Progress, default False
        True for a tqdm bar, or a function that is called with each report as keywords
    """

    _method = "kernel-ridge"
    _several_labels = True

    def __init__(
        self,
        *,
        kernel: str = "auto",
        widths: str = "0.5,1,2",
        lambda_: float = 0.0,
        sharing: float = 10.0,
        tuning_rows: int = 3000,
        max_rows: int = 20000,
        landmarks: int = 3000,
        seed: int = 0,
        hierarchy: Any = None,
        text: Any = None,
        numeric: Any = None,
        categorical: Any = None,
        vector_columns: Any = None,
        vector_share: float | None = None,
        path: Any = None,
        separator: str = " > ",
        text_features: TextFeatures | None = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.kernel = kernel
        self.widths = widths
        self.lambda_ = lambda_
        self.sharing = sharing
        self.tuning_rows = tuning_rows
        self.max_rows = max_rows
        self.landmarks = landmarks
        self.seed = seed
        self.hierarchy = hierarchy
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.vector_columns = vector_columns
        self.vector_share = vector_share
        self.path = path
        self.separator = separator
        self.text_features = text_features
        self.unlabelled = unlabelled
        self.calibration = calibration
        self.scale = scale
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress


class StructuredSVC(Structured):
    """Structured SVM with a surrogate of margin and loss ([Thesis]).

    Tags of sentences (model="chain"), or label sets of rows: with a weight for each pair of labels
    (model="multilabel-field"), or closed upward in a hierarchy (model="hierarchy").

    Parameters
    ----------
    C : float, default 0.1
        loss weight: the objective is the regulariser plus C times the sum of the losses [> 0]
    lambda_ : float, default 0.0
        regularisation strength instead of C: C = 1 / (2 lambda); 0: C is used [>= 0]
    bias : float, default 1.0
        value of the appended constant feature; 0: none [>= 0]
    intercept_penalty : float, default 1.0
        strength of the regulariser of the constant feature's weights, the intercepts, relative to
        that of the others; 0: intercepts are not regularised (flat-svm and level-svm one-vs-rest,
        top-down-svm, label-trees, flat-lr, hr-svm, hr-lr) [>= 0]
    seed : int, default 0
        seed of the random order of visits [>= 0]
    surrogate : str, default "margin"
        function of margin violation and task loss: margin, slack, generalised:BETA,A, beta:BETA,
        log, prob, prob-convex, micro-f1 (label sets and sequences), normalized-difference (rows
        with one label)
    search : str, default "auto"
        how the most violating labelling is found; auto: margin for margin rescaling; for the others
        enumeration where the oracle looks at all labellings, otherwise convex-hull [auto | margin |
        sarawagi | binary | bisecting | angular | convex-hull | enumeration]
    solver : str, default "auto"
        bcfw (block-coordinate Frank-Wolfe), cutting-plane and one-slack stop at a duality gap, sgd
        (averaged stochastic subgradients) after its passes; auto: sgd; for model hierarchy bcfw
        where the surrogate is affine in the margin [auto | bcfw | sgd | cutting-plane | one-slack]
    max_bans : int | str, default "auto"
        maximum number of rounds in which convex-hull search bans labellings to make a fractional
        optimum integral; auto: 10, and 0 by sgd [auto or >= 0]
    search_tolerance : float | str, default "auto"
        allowed error of a search: of the maximum, relative, for convex-hull and angular; of the
        logarithm of lambda for sarawagi, binary and bisecting; auto: 0.01 for convex-hull by sgd
        and for binary and bisecting, 0.001 for angular, 0.1 for sarawagi, otherwise 0 [auto or >=
        0]
    search_calls : int | str, default "auto"
        maximum number of oracle calls of one search; auto: 1000 for convex-hull and angular, 50 for
        sarawagi, binary and bisecting [auto or >= 1]
    convex_passes : int | str, default "auto"
        prob by sgd: number of first passes that train with its convex extension prob-convex, as
        prob is flat where margins are badly violated; auto: half of the passes, and 0 from the
        weights of an earlier model [auto or >= 0]
    learning_rate : float | str, default "auto"
        sgd: size of the first step; later ones fall, step t to rate / (1 + rate t / (C n)) with n
        examples; auto: C, and C / 11 from the weights of an earlier model [auto or > 0]
    decision : str, default "auto"
        label sets and tags: the labelling with the highest score (argmax), or with the highest
        score after a tuned number is added for each label, leaf or tag of a span (offset); auto:
        offset where training rows have several labels or tags stand for spans, otherwise argmax
        [auto | argmax | offset]
    decision_folds : int, default 3
        folds of the cross-validation that tunes offset; they and the training itself share a time
        limit evenly [>= 2]
    decision_metric : str, default "micro-f1"
        metric that the offset is tuned for; for tags: micro-f1 (of spans, where tags stand for
        them) or accuracy [micro-f1 | instance-f1 | macro-f1 | hierarchical-f1 | accuracy]
    model : str, default "chain"
        type of output: tags of a CoNLL column file, label sets with pairwise terms, label sets of a
        hierarchy, projective trees of a CoNLL-U file [chain | multilabel-field | hierarchy |
        dependency]
    tolerance : float, default 0.01
        relative duality gap at which bcfw and cutting planes stop; sgd stops where two passes lower
        the objective by no more than this share, of dependency ten times it [> 0]
    max_passes : int, default 50
        maximum number of passes over the examples [>= 1]
    order : int, default 1
        chain: 1: two tags in a row have a score; 2: and three tags in a row, in about K times the
        time of a search for K tags [in [1, 2]]
    min_feature_count : int, default 1
        chain: features that occur less often are left out [>= 1]
    word_pairs : bool, default True
        chain: whether a word together with the word before it, and with the word behind it, is a
        feature if it occurs twice [true | false]
    word_clusters : int | str, default "auto"
        chain: number of hierarchical clusters (Brown et al.) into which the training words that
        occur twice are divided by their neighbours; the clusters of a token and of its neighbours
        are features; 0: none; auto: with start those of the earlier model, if it has some,
        otherwise 64 where tags stand for spans, and 0 elsewhere [auto or >= 0]
    constraints : str, default "auto"
        chain: which tags may follow each other in answers: bio: I-X only after B-X or I-X; bioes: a
        span is S-X, or B-X, any number of I-X, and E-X; auto: one of these where the training tags
        have that form and obey it everywhere; none: any [auto | none | bio | bioes]
    comments : str, default "auto"
        chain: lines of a file that stand before a sentence and begin with # and a blank: hash: they
        are comments, for the model's later files, too; none: they are tokens; auto: they are
        tokens, but an error if no other token is # or has their tag [auto | none | hash]
    inference : str, default "exact"
        multilabel-field: train on the most violating label set, or on the maximum of the linear
        relaxation, which may be fractional; the reported gap is that of the chosen problem [exact |
        relaxed]
    pair_scale : float, default 1.0
        multilabel-field: value of the features of label pairs; with many labels, smaller values
        keep the pairs from outweighing the rows [> 0]
    hash_bits : int, default 20
        dependency: features of arcs share a table of 2^hash_bits weights, and those of relations
        another one [in [8, 30]]
    relations : str, default "joint"
        dependency: joint: the relations of arcs are learned together with the heads; separate:
        heads first, then a classifier of the relations of the true arcs; table: the most frequent
        relation of the two parts of speech [joint | separate | table]
    loss : str, default "labelled"
        dependency: task loss with relations joint: the words whose head or relation is wrong
        (labelled), or whose head is wrong (heads) [labelled | heads]
    hierarchy : Any, default None
        hierarchy of the labels in any form that `Hierarchy.of` takes
    text : Any, default None
        column of X, a frame, that is text, whose terms become features; several as a list, or as a
        dict with the number of times that each counts. A name with a * stands for all columns that
        fit, and '*' for those that no other parameter names; also in the next three
    numeric : Any, default None
        columns of X that are numbers; missing ones become the mean and set a further feature
    categorical : Any, default None
        columns of X that are categories, each of which becomes a feature
    vector_columns : Any, default None
        columns of X that are one vector, such as an embedding: of numbers, or a column with a list
        or an array in each row, all of one length and without gaps
    vector_share : float | None, default None
        share of that vector in the squared norm of a row, in (0, 1); None: 0.7
    path : Any, default None
        column of X with the path of the label as one text, or a list of columns, one per level from
        the root down. The paths give the hierarchy, unless one is given; `fit` then takes no y
    separator : str, default " > "
        text between the names of a path in one column
    text_features : TextFeatures | None, default None
        a TextFeatures whose options the terms of texts have; None: its defaults
    unlabelled : str, default "auto"
        what a row without a label means: auto: a missing label, so that it is left out with a
        warning, where no row has several labels, otherwise the empty set; drop: a missing label;
        keep: the empty set, so that labels are sets whatever their sizes, where the method can
        learn it
    calibration : float, default 0.0
        share of the rows that is held out to fit the temperature of probabilities, and where rows
        have several labels a shift, which trains twice; 0: none
    scale : str, default "auto"
        columns of X: standard (mean 0, deviation 1), max-abs, robust (median, quartiles), common
        (mean 0, one divisor) or none; sparse rows are divided only. auto: dense rows get standard,
        or common where no column is large or all are of one scale; sparse counts whose rows differ
        in length become unit rows
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    time_limit_seconds : float | None, default None
        time after which training ends with the best weights so far and a ConvergenceWarning
    memory_limit : float | None, default None
        refuse to train if the estimated memory exceeds this many GB (10^9 bytes); None: 90 % of
        what is free
    progress : Progress, default False
        True for a tqdm bar, or a function that is called with each report as keywords
    """

    _method = "structured"
    _several_labels = True

    # Longer than 60 lines: scikit-learn reads the parameters from the signature.
    def __init__(
        self,
        *,
        C: float = 0.1,
        lambda_: float = 0.0,
        bias: float = 1.0,
        intercept_penalty: float = 1.0,
        seed: int = 0,
        surrogate: str = "margin",
        search: str = "auto",
        solver: str = "auto",
        max_bans: int | str = "auto",
        search_tolerance: float | str = "auto",
        search_calls: int | str = "auto",
        convex_passes: int | str = "auto",
        learning_rate: float | str = "auto",
        decision: str = "auto",
        decision_folds: int = 3,
        decision_metric: str = "micro-f1",
        model: str = "chain",
        tolerance: float = 0.01,
        max_passes: int = 50,
        order: int = 1,
        min_feature_count: int = 1,
        word_pairs: bool = True,
        word_clusters: int | str = "auto",
        constraints: str = "auto",
        comments: str = "auto",
        inference: str = "exact",
        pair_scale: float = 1.0,
        hash_bits: int = 20,
        relations: str = "joint",
        loss: str = "labelled",
        hierarchy: Any = None,
        text: Any = None,
        numeric: Any = None,
        categorical: Any = None,
        vector_columns: Any = None,
        vector_share: float | None = None,
        path: Any = None,
        separator: str = " > ",
        text_features: TextFeatures | None = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.intercept_penalty = intercept_penalty
        self.seed = seed
        self.surrogate = surrogate
        self.search = search
        self.solver = solver
        self.max_bans = max_bans
        self.search_tolerance = search_tolerance
        self.search_calls = search_calls
        self.convex_passes = convex_passes
        self.learning_rate = learning_rate
        self.decision = decision
        self.decision_folds = decision_folds
        self.decision_metric = decision_metric
        self.model = model
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.order = order
        self.min_feature_count = min_feature_count
        self.word_pairs = word_pairs
        self.word_clusters = word_clusters
        self.constraints = constraints
        self.comments = comments
        self.inference = inference
        self.pair_scale = pair_scale
        self.hash_bits = hash_bits
        self.relations = relations
        self.loss = loss
        self.hierarchy = hierarchy
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.vector_columns = vector_columns
        self.vector_share = vector_share
        self.path = path
        self.separator = separator
        self.text_features = text_features
        self.unlabelled = unlabelled
        self.calibration = calibration
        self.scale = scale
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress
