#pragma once

/// What the small library liblpes_mpi.so offers (mpi_door.cpp): the only code that knows MPI. It is loaded where mpirun
/// or srun started this program as one of several; any other start knows nothing of MPI. MPI only says who is who and
/// carries one text: everything else goes through channels, because a lost rank closes those at once, while MPI would
/// wait for it, and waiting in MPI keeps a core busy.
extern "C" {

/// Bytes of the text, its closing 0 included.
enum { kLpesMpiText = 8192 };

/// MPI_Init; this process's rank and how many there are. 0, or MPI's error code.
int lpes_mpi_join(int* rank, int* size);
/// Rank 0's text [kLpesMpiText], to all ranks. 0, or MPI's error code.
int lpes_mpi_broadcast(char* text);
/// MPI_Finalize. 0, or MPI's error code.
int lpes_mpi_leave();
}
