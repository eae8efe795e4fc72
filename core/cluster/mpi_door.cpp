#include "core/cluster/mpi_door.h"

#include <mpi.h>

int lpes_mpi_join(int* rank, int* size) {
    if (const int error = MPI_Init(nullptr, nullptr); error != MPI_SUCCESS) return error;
    if (const int error = MPI_Comm_rank(MPI_COMM_WORLD, rank); error != MPI_SUCCESS) return error;
    return MPI_Comm_size(MPI_COMM_WORLD, size);
}

int lpes_mpi_broadcast(char* text) {
    return MPI_Bcast(text, kLpesMpiText, MPI_CHAR, 0, MPI_COMM_WORLD);
}

int lpes_mpi_leave() {
    return MPI_Finalize();
}
