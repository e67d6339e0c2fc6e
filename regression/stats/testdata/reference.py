"""Computes reference.json: python reference.py > reference.json, with numpy 2.4.6,
scipy 1.17.1, statsmodels 0.15.0 and pymannkendall 1.4.3."""
import numpy as np, json
from scipy import stats, integrate
from statsmodels.stats.meta_analysis import combine_effects
import pymannkendall as mk
out={}
# e-value by numerical integration
def e(d,V,tau):
    f=lambda t: 2*stats.norm.pdf(t,0,tau)*np.exp(t*d/V-t*t/(2*V))
    hi=max(10*tau,abs(d)*3)+1e-9
    pts=sorted(set([max(0,d*tau**2/(V+tau**2))]))
    return integrate.quad(f,0,hi,points=[p for p in pts if 0<p<hi],limit=500,epsabs=0,epsrel=1e-11)[0]
M=np.log(1.01)
out['loge']=[dict(x=x,V=V,logE=float(np.log(np.mean([e(x-M,V,t) for t in (.02,.06,.2)])))) for x,V in [(0.0,0.0004),(0.05,0.0001),(0.1,0.0004),(-0.03,0.0001),(0.3,0.0025),(0.02,1e-5)]]
y=np.array([0.10,0.30,-0.05,0.22,0.55,0.01]); v=np.array([0.01,0.02,0.005,0.03,0.04,0.015])
r=combine_effects(y,v,method_re='dl')
out['dl']=dict(y=y.tolist(),v=v.tolist(),tau2=float(r.tau2),Q=float(r.q))
rng=np.random.default_rng(5)
n=40
x=np.zeros(n)
for i in range(1,n): x[i]=.5*x[i-1]+rng.normal()
s=np.round(x+.08*np.arange(n),3)
s[7]=s[3]; s[20]=s[21]
o=mk.original_test(s)
out['mk']=dict(series=s.tolist(),S=float(o.s),var=float(o.var_s),z=float(o.z),p2=float(o.p),slope=float(o.slope))
th=stats.theilslopes(s,np.arange(n))
# AR(1) corrected: residuals of the Sen line, lag 1 autocorrelation, n/n*=1+2 sum (1-k/n) rho^k
res=s-th[0]*np.arange(n); res=res-res.mean()
rho=float((res[1:]*res[:-1]).sum()/(res**2).sum())
ratio=1+2*sum((1-k/n)*rho**k for k in range(1,n))
z=(o.s-1)/np.sqrt(o.var_s*ratio)
out['mk_ar']=dict(rho=rho,ratio=float(ratio),z=float(z),p1=float(stats.norm.sf(z)))
out['bh']=stats.false_discovery_control([0.001,0.008,0.039,0.041,0.042,0.06,0.074,0.205,0.212,0.216]).tolist()
# E-divisive by definition
ser=np.round(np.concatenate([rng.normal(0,1,20),rng.normal(1.5,1,15)]),3)
def ediv(x,tau,alpha=1):
    a,b=x[:tau],x[tau:]
    n,m=len(a),len(b)
    A=np.abs(a[:,None]-b[None,:]).sum()*2/(n*m)
    B=np.abs(a[:,None]-a[None,:])[np.triu_indices(n,1)].sum()/(n*(n-1)/2)
    C=np.abs(b[:,None]-b[None,:])[np.triu_indices(m,1)].sum()/(m*(m-1)/2)
    return n*m/(n+m)*(A-B-C)
q=[(ediv(ser,t),t) for t in range(5,len(ser)-4)]
out['ediv']=dict(series=ser.tolist(),best=int(max(q)[1]),q=float(max(q)[0]))
print(json.dumps(out,indent=1))
