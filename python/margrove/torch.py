"""The losses of margrove.losses as layers of PyTorch, with automatic differentiation.

Needs PyTorch: pip install margrove[torch].
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import torch
except ImportError as error:
    raise ImportError("margrove.torch needs the package torch: pip install torch") from error

from torch.autograd.function import once_differentiable

from margrove import _core
from margrove.losses import check_output, evaluate, settings

__all__ = ["LogLikelihoodLoss", "PerturbedLoss", "StructuredLoss"]


class _Losses(torch.autograd.Function):
    """One loss per example."""

    @staticmethod
    def forward(ctx: Any, call: "_Call", *scores: torch.Tensor) -> torch.Tensor:
        arrays = [each.detach().cpu().numpy() for each in scores]
        losses, call.maxima, gradients, ctx.shared = evaluate(
            arrays, call.truth, call.output, call.how, call.lengths, call.start
        )
        device = scores[0].device
        ctx.save_for_backward(*(torch.from_numpy(each).to(device) for each in gradients))
        return torch.from_numpy(losses).to(device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_losses: torch.Tensor) -> tuple[Any, ...]:
        found: list[torch.Tensor | None] = []
        for k, (gradient, shared) in enumerate(zip(ctx.saved_tensors, ctx.shared, strict=True)):
            if not ctx.needs_input_grad[1 + k]:
                found.append(None)
                continue
            if shared:  # sum_i of_losses_i gradient_i
                found.append(torch.tensordot(of_losses, gradient, dims=1))
            else:
                found.append(gradient * of_losses.reshape(-1, *[1] * (gradient.ndim - 1)))
        return (None, *found)


@dataclass
class _Call:
    """All but the scores, and the maxima that are found."""

    output: Any
    how: Any
    truth: Any
    lengths: Any
    start: Any = None
    maxima: Any = None


class _Labellings:
    """Those of examples with keys; numbers in them are below num_classes."""

    def __init__(self, num_classes: int) -> None:
        self.num_classes = num_classes
        self._row_of: dict[int, int] = {}  # by key
        self._rows = np.empty((0, 0), dtype=np.int32)  # -1 behind a labelling
        self._lengths = np.empty(0, dtype=np.int32)

    def of(self, keys: list[int], lengths: Any, width: int) -> NDArray[np.int32]:
        """A row for each example, of -1 if it has no labelling of this length yet."""
        rows = self._places(keys)
        self._widen(width)
        is_known = (self._lengths[rows] == lengths)[:, None]
        return np.where(is_known, self._rows[rows, :width], np.int32(-1))

    def keep(self, keys: list[int], lengths: Any, labellings: NDArray[np.int64]) -> None:
        rows = self._places(keys)
        self._widen(labellings.shape[1])
        self._rows[rows, : labellings.shape[1]] = labellings
        self._lengths[rows] = lengths

    def _places(self, keys: list[int]) -> list[int]:
        return [self._row_of.setdefault(key, len(self._row_of)) for key in keys]

    def _widen(self, width: int) -> None:
        size, needed = self._rows.shape, (len(self._row_of), width)
        if needed[0] <= size[0] and needed[1] <= size[1]:
            return
        count = size[0] if needed[0] <= size[0] else max(needed[0], 2 * size[0])
        wider = np.full((count, max(size[1], width)), -1, dtype=np.int32)
        wider[: size[0], : size[1]] = self._rows
        self._rows = wider
        self._lengths = np.concatenate(
            [self._lengths, np.full(count - size[0], -1, dtype=np.int32)]
        )


class _Layer(torch.nn.Module):
    def __init__(self, output: Any, reduction: str, threads: int) -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"reduction is {reduction!r}, but must be 'mean', 'sum' or 'none'")
        check_output(output)
        self.output = output
        self.reduction = reduction
        self.threads = threads

    def _settings(self) -> Any:
        raise NotImplementedError

    def forward(self, scores: Any, truth: Any, lengths: Any = None) -> torch.Tensor:
        """The loss, to be minimised.

        scores: a tensor, or a tuple of those that `output` names, as for `structured_loss`. The
        losses are computed on the CPU; scores on another device are copied to it. float16 and
        bfloat16 are converted to float32. truth, lengths: tensors or arrays of whole numbers.
        """
        return self._losses(_tensors(scores), self._call(truth, lengths))

    def _call(self, truth: Any, lengths: Any) -> _Call:
        return _Call(self.output, self._settings(), _array(truth), _array(lengths))

    def _losses(self, tensors: list[torch.Tensor], call: _Call) -> torch.Tensor:
        apply: Any = _Losses.apply  # without types in some versions of PyTorch
        losses: torch.Tensor = apply(call, *_of_one_type(tensors))
        if self.reduction == "none":
            return losses
        return losses.sum() if self.reduction == "sum" else losses.mean()


class StructuredLoss(_Layer):
    """The structured loss of a batch of scores: max_y psi(f(y) - f(truth), L(truth, y)).

    Parameters
    ----------
    output : Any
        one of margrove.losses: MultiClass, Chain, ProjectiveTrees, SpanningTrees, PairwiseField,
        TopK, LabelPaths, LabelSets
    surrogate : str | Surrogate, default "margin"
        psi, a function of margin violation and task loss: margin, slack, generalised:BETA,A,
        beta:BETA, log, prob, prob-convex, micro-f1, normalized-difference, or an object with the
        methods of `margrove.structured.Surrogate`
    search : str, default "auto"
        how the maximum is found: see `structured_loss`
    reduction : str, default "mean"
        of the losses of the examples [mean | sum | none]
    max_bans : int, default 10
        maximum number of rounds in which convex-hull search bans labellings
    tolerance : float, default 0.0
        the allowed relative error of the maximum in convex-hull search; 0: none
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    """

    def __init__(
        self,
        output: Any,
        surrogate: Any = "margin",
        search: str = "auto",
        *,
        reduction: str = "mean",
        max_bans: int = 10,
        tolerance: float = 0.0,
        threads: int = 1,
    ) -> None:
        super().__init__(output, reduction, threads)
        self.surrogate = surrogate
        self.search = search
        self.max_bans = max_bans
        self.tolerance = tolerance
        _core.check_loss_settings(self._settings())

    _checked: Any = None  # (surrogate, what the library has made of it)
    _known: _Labellings | None = None  # the last maxima of examples with keys

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_checked": None, "_known": None}

    def forward(
        self, scores: Any, truth: Any, lengths: Any = None, keys: Any = None
    ) -> torch.Tensor:
        """The loss, to be minimised.

        scores, truth, lengths: as for the other layers. keys: a whole number for each example, such
        as its place in the training set. The search for the maximum of an example begins with the
        maximum of its last call, and takes the fewer steps the less the scores have changed since;
        the losses are the same but for the error that max_bans and tolerance allow. An example
        whose length has changed has none yet. Keeps 4 bytes for each number of a labelling, for at
        most twice as many labellings as there are keys, as long as the longest.
        """
        call, tensors = self._call(truth, lengths), _tensors(scores)
        if keys is None:
            return self._losses(tensors, call)
        call.truth = np.asarray(call.truth)
        known_by = _checked_keys(keys, call.truth)
        num_classes = self.output._num_classes(tuple(tensors[0].shape[1:]))
        if self._known is None or self._known.num_classes != num_classes:
            self._known = _Labellings(num_classes)
        shape = call.truth.shape
        width = int(np.prod(shape[1:]))
        sizes = np.full(len(known_by), width) if call.lengths is None else np.asarray(call.lengths)
        if sizes.shape == (len(known_by),):  # otherwise the loss refuses them
            call.start = self._known.of(known_by, sizes, width).reshape(shape)
        losses = self._losses(tensors, call)
        self._known.keep(known_by, sizes, call.maxima.reshape(len(known_by), -1))
        return losses

    def _settings(self) -> Any:
        if self._checked is None or self._checked[0] is not self.surrogate:
            self._checked = self.surrogate, _core.Surrogate(self.surrogate)
        return settings(
            "structured",
            self.threads,
            surrogate=self._checked[1],
            search=self.search,
            max_bans=self.max_bans,
            tolerance=self.tolerance,
        )

    def extra_repr(self) -> str:
        """The settings, for print."""
        return f"{self.output}, surrogate={self.surrogate!r}, search={self.search!r}"


class LogLikelihoodLoss(_Layer):
    """-log p(truth) of a batch of scores, p(y) = exp f(y) / sum_y exp f(y).

    Parameters
    ----------
    output : Any
        one of margrove.losses that has a log-likelihood: see `log_likelihood_loss`
    reduction : str, default "mean"
        of the losses of the examples [mean | sum | none]
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    """

    def __init__(self, output: Any, *, reduction: str = "mean", threads: int = 1) -> None:
        super().__init__(output, reduction, threads)
        _core.check_loss_settings(self._settings())

    def _settings(self) -> Any:
        return settings("log-likelihood", self.threads)

    def extra_repr(self) -> str:
        """The settings, for print."""
        return str(self.output)


class PerturbedLoss(_Layer):
    """The perturbed Fenchel-Young loss of a batch of scores: see `perturbed_loss`.

    Parameters
    ----------
    output : Any
        one of margrove.losses
    sigma : float, default 1.0
        the standard deviation of the noise on each score
    samples : int, default 10
        how often noise is drawn for each example
    seed : int | None, default None
        of the noise, the same in each call; None: drawn from PyTorch's generator in each call
    reduction : str, default "mean"
        of the losses of the examples [mean | sum | none]
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    """

    def __init__(
        self,
        output: Any,
        *,
        sigma: float = 1.0,
        samples: int = 10,
        seed: int | None = None,
        reduction: str = "mean",
        threads: int = 1,
    ) -> None:
        super().__init__(output, reduction, threads)
        self.sigma = sigma
        self.samples = samples
        self.seed = seed
        _core.check_loss_settings(self._settings_of(0 if seed is None else seed))

    def _settings(self) -> Any:
        seed = int(torch.randint(2**62, ()).item()) if self.seed is None else self.seed
        return self._settings_of(seed)

    def _settings_of(self, seed: int) -> Any:
        return settings(
            "perturbed", self.threads, sigma=self.sigma, samples=self.samples, seed=seed
        )

    def extra_repr(self) -> str:
        """The settings, for print."""
        return f"{self.output}, sigma={self.sigma}, samples={self.samples}, seed={self.seed}"


_HALF = (torch.float16, torch.bfloat16)


def _array(numbers: Any) -> Any:
    return numbers.detach().cpu().numpy() if isinstance(numbers, torch.Tensor) else numbers


def _checked_keys(keys: Any, truth: Any) -> list[int]:
    array = np.asarray(_array(keys))
    if array.dtype.kind not in "iu":
        raise TypeError(f"keys are of type {array.dtype}, but must be of integers")
    if array.shape != np.shape(truth)[:1]:
        raise ValueError(f"keys: shape is {array.shape}, but must be {np.shape(truth)[:1]}")
    found: list[int] = array.tolist()
    return found


def _tensors(scores: Any) -> list[torch.Tensor]:
    given = list(scores) if isinstance(scores, tuple | list) else [scores]
    for each in given:
        if not isinstance(each, torch.Tensor):
            raise TypeError(f"scores: type is {type(each).__name__}, but must be torch.Tensor")
    return [each.float() if each.dtype in _HALF else each for each in given]


def _of_one_type(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    types = {each.dtype for each in tensors}
    if types == {torch.float32, torch.float64}:
        return [each.double() for each in tensors]
    return tensors
