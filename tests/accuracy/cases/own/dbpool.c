/* summary: conn_prepare() stores a counted pointer to the connection in a statement that the connection itself caches, so the two hold each other
 * kind: cycle
 * counts: surplus
 * objects: 9
 * track: own
 * build: clang-14 -O0 -g
 * exit: 0
 */

/* dbpool.c -- a pool of database connections with prepared statements.
**
** Statements come in two sorts.  A named one stays in the cache of its
** connection, which owns it, and can be used again by its name.  An anonymous
** one belongs to the caller and keeps the connection open until it is closed.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NCACHE 6

typedef struct DbConn DbConn;
typedef struct DbStmt DbStmt;

struct DbStmt {
  int nShare;
  DbConn *pConn;          /* shared for an anonymous statement, else lent */
  int bOwnsConn;          /* true if pConn is to be closed */
  char zName[16];         /* empty for an anonymous one */
  char zSql[48];
  int nRun;
};

struct DbConn {
  int nShare;
  int iId;
  DbStmt *apCache[NCACHE];
  int nHit, nMiss, nRow;
  DbConn *pNextFree;
};

static DbConn *pPool;     /* idle connections, linked by pNextFree */
static int nOpened, nClosed;

void stmtClose(DbStmt *pStmt);

/* ---------------------------------------------------------------- conn */

DbConn *connOpen(int iId){
  DbConn *p = calloc(1, sizeof(*p));
  if( p==0 ) exit(3);
  p->nShare = 1;
  p->iId = iId;
  nOpened++;
  return p;
}

DbConn *connShare(DbConn *p){
  p->nShare++;
  return p;
}

void connClose(DbConn *p){
  int i;
  if( p==0 || --p->nShare>0 ) return;
  for(i=0; i<NCACHE; i++) stmtClose(p->apCache[i]);
  nClosed++;
  free(p);
}

/* ---------------------------------------------------------------- stmt */

DbStmt *stmtCreate(const char *zName, const char *zSql){
  DbStmt *p = calloc(1, sizeof(*p));
  if( p==0 ) exit(3);
  p->nShare = 1;
  snprintf(p->zName, sizeof(p->zName), "%s", zName ? zName : "");
  snprintf(p->zSql, sizeof(p->zSql), "%s", zSql);
  return p;
}

DbStmt *stmtShare(DbStmt *p){
  p->nShare++;
  return p;
}

void stmtClose(DbStmt *p){
  if( p==0 || --p->nShare>0 ) return;
  if( p->bOwnsConn ) connClose(p->pConn);
  free(p);
}

/* An anonymous statement, for the caller to close. */
static DbStmt *connQuery(DbConn *pConn, const char *zSql){
  DbStmt *p = stmtCreate(0, zSql);
  p->pConn = connShare(pConn);
  p->bOwnsConn = 1;
  return p;
}

/* A named statement out of the cache, for the caller to close.  A full cache
** loses its oldest entry. */
static DbStmt *connPrepare(DbConn *pConn, const char *zName, const char *zSql){
  int i;
  DbStmt *p;
  for(i=0; i<NCACHE && pConn->apCache[i]; i++){
    if( strcmp(pConn->apCache[i]->zName, zName)==0 ){
      pConn->nHit++;
      return stmtShare(pConn->apCache[i]);
    }
  }
  pConn->nMiss++;
  p = stmtCreate(zName, zSql);
#ifdef BUG
  p->pConn = connShare(pConn);  /* GUILTY */
  p->bOwnsConn = 1;             /* ACCEPTED */
#else
  p->pConn = pConn;
#endif
  if( i==NCACHE ){
    stmtClose(pConn->apCache[0]);
    memmove(pConn->apCache, pConn->apCache+1, sizeof(pConn->apCache[0])*(NCACHE-1));
    i = NCACHE-1;
  }
  pConn->apCache[i] = stmtShare(p);  /* ACCEPTED */
  return p;
}

static int stmtStep(DbStmt *p){
  int n = (int)strlen(p->zSql) % 7 + ++p->nRun;
  p->pConn->nRow += n;
  return n;
}

/* ---------------------------------------------------------------- pool */

static DbConn *poolTake(void){
  DbConn *p = pPool;
  if( p==0 ) return connOpen(nOpened+1);
  pPool = p->pNextFree;
  p->pNextFree = 0;
  return p;
}

static void poolReturn(DbConn *p){
  p->pNextFree = pPool;
  pPool = p;
}

static int poolShrink(int nKeep){
  DbConn **pp = &pPool, *p;
  int n = 0;
  while( *pp && nKeep-- > 0 ) pp = &(*pp)->pNextFree;
  while( (p = *pp)!=0 ){
    *pp = p->pNextFree;
    connClose(p);
    n++;
  }
  return n;
}

static int request(DbConn *pConn, int iReq){
  static const char *const azName[] = { "by_id", "by_mail", "orders", "stock", "touch", "tax", "zip", "audit" };
  int nRow = 0;
  DbStmt *p;
  if( iReq%3==0 ){
    p = connQuery(pConn, "SELECT count(*) FROM visit");
    nRow += stmtStep(p);
    stmtClose(p);
  }
  if( iReq%17!=5 ){
    char zSql[48];
    const char *zName = azName[iReq%11 < 8 ? iReq%11 : 1];
    snprintf(zSql, sizeof(zSql), "SELECT * FROM t WHERE %s=?", zName);
    p = connPrepare(pConn, zName, zSql);
    nRow += stmtStep(p);
    stmtClose(p);
  }
  return nRow;
}

int main(void){
  DbConn *apBusy[5];
  int nRow = 0, nShrunk = 0, nHit = 0;
  for(int round=0; round<24; round++){
    int n = 1 + round*5%9%5;
    for(int i=0; i<n; i++) apBusy[i] = poolTake();
    for(int i=0; i<n; i++) nRow += request(apBusy[i], round*n + i);
    for(int i=n-1; i>=0; i--) poolReturn(apBusy[i]);
    if( round%10==9 ) nShrunk += poolShrink(2);
  }
  for(DbConn *p=pPool; p; p=p->pNextFree) nHit += p->nHit;
  nShrunk += poolShrink(0);
  printf("%d rows, %d hits, %d opened, %d shrunk\n", nRow, nHit, nOpened, nShrunk);
  return 0;
}
