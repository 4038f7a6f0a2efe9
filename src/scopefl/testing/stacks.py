"""Exhibits with more numbers than a picture has: channels, planes, animations, kinds of pages."""

import io
from collections.abc import Iterator

import numpy as np
import tifffile
from PIL import Image

from scopefl.testing.exhibit import (
    Exhibit,
    Pixels,
    colour,
    encoded,
    grey,
    quarantined,
    scored,
    tiff,
)

NAMES = ["nuclei", "membrane", "actin", "tubulin", "phase"]


def stack_exhibits() -> Iterator[Exhibit]:
    """Give stacks and many-channel files, undeclared and declared."""
    yield from _channels()
    yield from _planes()
    yield from _animations()


def _channels() -> Iterator[Exhibit]:
    levels = grey()
    five = np.stack([levels, levels[::-1], levels[:, ::-1], 255 - levels, levels // 2])
    picked = np.dstack([five[4], five[0], five[2]])
    last = np.ascontiguousarray(five.transpose(1, 2, 0))
    contiguous = tiff(last, photometric="minisblack", planarconfig="contig")
    yield quarantined("five-last.tif", contiguous, "5 channels")
    yield scored("five-last-picked.tif", contiguous, picked, channels=(4, 0, 2))
    yield quarantined("five-first.tif", tiff(five, photometric="minisblack"), "--channels")
    yield scored(
        "five-first-picked.tif", tiff(five, photometric="minisblack"), picked, channels=(4, 0, 2)
    )
    yield scored("five-first-one.tif", tiff(five, photometric="minisblack"), five[3], channels=(3,))
    named = tiff(five, ome=True, photometric="minisblack",
                 metadata={"axes": "CYX", "Channel": {"Name": NAMES}})  # fmt: skip
    yield quarantined("five.ome.tif", named, "nuclei, membrane")
    yield scored("five-named.ome.tif", named, picked, channels=("phase", "nuclei", "actin"))
    yield quarantined("five-misnamed.ome.tif", named, "no channel is called", channels=("dapi",))
    two = tiff(five[:2], ome=True, photometric="minisblack", metadata={"axes": "CYX"})
    yield quarantined("two.ome.tif", two, "2 channels")
    three = tiff(five[:3], imagej=True, metadata={"axes": "CYX"})
    yield quarantined("three-fluorescent.tif", three, "3 channels")


def _planes() -> Iterator[Exhibit]:
    levels = grey()
    planes = np.stack([levels, levels[::-1], levels[:, ::-1]])
    mean = np.rint(planes.mean(axis=0)).astype(np.uint8)
    depth = tiff(planes, imagej=True, metadata={"axes": "ZYX"})
    yield quarantined("stack.tif", depth, "a stack of 3 planes: add --project")
    yield scored("stack-max.tif", depth, planes.max(axis=0), project="max")
    yield scored("stack-mean.tif", depth, mean, project="mean")
    yield scored("stack-first.tif", depth, levels, project="first")
    yield scored("stack-third.tif", depth, planes[2], project=2)
    yield quarantined("stack-tenth.tif", depth, "no plane 10", project=10)
    time = tiff(planes.astype(np.uint16) * 257, ome=True, photometric="minisblack",
                metadata={"axes": "TYX"})  # fmt: skip
    yield quarantined("time.ome.tif", time, "--project", window=(0.0, 65535.0))
    yield scored("time-max.ome.tif", time, planes.max(axis=0), window=(0.0, 65535.0), project="max")
    pages = tiff(planes, photometric="minisblack", metadata=None)
    yield quarantined("pages.tif", pages, "--project")
    yield scored("pages-max.tif", pages, planes.max(axis=0), project="max")
    both = np.stack([planes, planes[:, ::-1]], axis=1)
    fields = tiff(both, imagej=True, metadata={"axes": "ZCYX"})
    yield quarantined("stack-of-two.tif", fields, "2 channels", project="max")
    yield scored(
        "stack-of-two-picked.tif", fields, both[:, 1].max(axis=0), project="max", channels=(1,)
    )
    yield quarantined("two-sizes.tif", _two_pictures(levels, levels[:50, :70]), "different kinds")
    # A second page of half the size is a coarser level of the same picture.
    yield scored("pyramid.tif", _two_pictures(levels, levels[::2, ::2]), levels)


def _two_pictures(first: Pixels, second: Pixels) -> bytes:
    stream = io.BytesIO()
    with tifffile.TiffWriter(stream) as writer:
        writer.write(first, metadata=None)
        writer.write(second, metadata=None)
    return stream.getvalue()


def _animations() -> Iterator[Exhibit]:
    frames = [Image.fromarray(frame) for frame in (colour(), colour()[::-1])]
    for kind, options in (("PNG", {}), ("WEBP", {"lossless": True})):
        data = encoded(frames[0], kind, save_all=True, append_images=frames[1:], **options)
        name = f"moving.{kind.lower()}"
        yield quarantined(name, data, "2 pictures in one file")
        yield scored(f"first-{name}", data, colour(), project="first")
        yield scored(f"second-{name}", data, colour()[::-1], project=1)
    grey_frames = [Image.fromarray(frame) for frame in (grey(), grey()[::-1])]
    gif = encoded(grey_frames[0], "GIF", save_all=True, append_images=grey_frames[1:])
    yield quarantined("moving.gif", gif, "2 pictures in one file")
    yield scored("brightest-moving.gif", gif, np.maximum(grey(), grey()[::-1]), project="max")
