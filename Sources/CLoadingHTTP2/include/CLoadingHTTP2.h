#ifndef C_LOADING_HTTP2_H
#define C_LOADING_HTTP2_H
typedef struct clh_session clh_session;
#endif
