/* Fake layers: what a test sees and says of them. */
#pragma once

extern int fake_layers_fail; /* what every launch answers: 0 or a cudaError_t */
extern int fake_layers_launches;
