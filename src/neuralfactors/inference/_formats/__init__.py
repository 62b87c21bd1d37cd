"""MAP problems in files: UAI and WCSP in, arrays out; and arrays into UAI files."""

from neuralfactors.inference._formats.problem import MapProblem
from neuralfactors.inference._formats.uai import read_uai
from neuralfactors.inference._formats.uai_writer import write_uai
from neuralfactors.inference._formats.wcsp import read_wcsp

__all__ = ["MapProblem", "read_uai", "read_wcsp", "write_uai"]
