#ifndef C_LOADING_TLS_H
#define C_LOADING_TLS_H
#endif
