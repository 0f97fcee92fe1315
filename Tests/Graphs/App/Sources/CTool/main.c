#include <stdio.h>

int main(void) { return puts("c") < 0; }
