#pragma once

// Gives the process of the tests a home of its own for what its sessions keep, before anything of it runs, and removes it
// when the process ends: no test finds what another run has left, and none touches what is the user's.
