#!/usr/bin/env python3
"""families/llama31.gguf as the gguf package splits it: gguf_set/, metadata in a file of its own, 7 tensors in the others.

Needs gguf and numpy. Run it in this folder.
"""
import pathlib
from gguf import GGUFReader, GGUFValueType, GGUFWriter

here = pathlib.Path(__file__).parent
source = GGUFReader(here / "families" / "llama31.gguf")
(here / "gguf_set").mkdir(exist_ok=True)
writer = GGUFWriter(here / "gguf_set" / "llama31.gguf", "llama", split_max_tensors=7, small_first_shard=True)
for key, field in source.fields.items():
    if key.startswith("GGUF.") or key == "general.architecture": continue
    if field.types[0] == GGUFValueType.ARRAY:
        writer.add_key_value(key, field.contents(), GGUFValueType.ARRAY, sub_type=field.types[-1])
    else:
        writer.add_key_value(key, field.contents(), field.types[0])
for tensor in source.tensors: writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
